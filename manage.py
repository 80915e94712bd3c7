#!/usr/bin/env python
"""The command line of the console: `python manage.py COMMAND --help`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as missing:
        sys.exit(f"manage.py: {missing}; run it with .venv/bin/python (`make setup` makes it)")
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as away:
        sys.exit(f"manage.py: the console's own database: {' '.join(str(away).split())}")


if __name__ == "__main__":
    main()
