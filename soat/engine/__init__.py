"""Pure algorithms of the memory and knowledge engine.

Nothing here fetches: no clock, no randomness, no environment, no Django. Standard library
only, and the ``regex`` package for text boundaries.
"""
