#!/usr/bin/env python
"""Run a management command."""

import os
import sys


def main() -> None:
    """Hand the command line to Django; a wrong setting ends with its sentence, not with a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")
    if sys.argv[1:2] == ["standalone"]:
        # The supervisor makes the secrets and addresses that its children need, so it starts without them.
        os.environ.setdefault("SOAT_STANDALONE", "true")
    from django.conf import settings  # noqa: PLC0415
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    try:
        _ = settings.SECRET_KEY
    except ImproperlyConfigured as error:
        sys.exit(f"SOAT cannot start: {error}")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
