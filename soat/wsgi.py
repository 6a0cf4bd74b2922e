"""The WSGI entry point: ``gunicorn soat.wsgi:application --worker-class gthread``."""

import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Serve a request.

    A content type with a NUL in a parameter (``charset*=utf-8''%00``) would crash Django before any of
    its error handlers is there: it becomes one that no view reads.
    """
    if "%00" in environ.get("CONTENT_TYPE", ""):
        environ["CONTENT_TYPE"] = "application/octet-stream"
    return _django(environ, start_response)
