"""The WSGI entry point: ``gunicorn soat.wsgi:application --worker-class gthread``."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")

application = get_wsgi_application()
