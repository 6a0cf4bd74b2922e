"""``manage.py doctor``: what is wrong with a deployment, in plain words."""
