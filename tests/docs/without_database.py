"""The settings for what only reads the code: migrations against models, the OpenAPI document."""

from soat.settings import *  # noqa: F403

DATABASES = {"default": {"ENGINE": "django.db.backends.dummy"}}
