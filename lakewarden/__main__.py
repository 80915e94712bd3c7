"""`python -m lakewarden check user:ana read table:demo/shop.sales.orders …`.

Leaves with 0 when all are yes, 1 when one is refused, 2 when there is no answer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lakewarden.client import AccessDenied, BadName, BadPrincipal, Client, ConsoleError


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        Client().require_many([(asked.subject, asked.action, each) for each in asked.resource])
    except AccessDenied as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    except (ConsoleError, BadName, BadPrincipal) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{asked.subject} may {asked.action} all {len(asked.resource)}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lakewarden",
        description="Ask the console at LAKEWARDEN_URL with the token in LAKEWARDEN_TOKEN.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    check = commands.add_parser("check", help="may a principal do this to all of these?")
    check.add_argument("subject", help="user:NAME, group:NAME or service:NAME")
    check.add_argument("action", help="read, write, use … or an operation name")
    check.add_argument("resource", nargs="+", help="table:realm/catalog.schema.table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
