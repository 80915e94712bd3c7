"""Ask the demo's database with somebody's own login, where `psql` is absent."""

from __future__ import annotations

import sys
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from authzsite.demo import passwords, shop
from authzsite.embedded import CannotStart

MOST_ROWS = 50
WIDEST = 40  # characters of a cell


class Command(BaseCommand):
    help = "Query the demo's shop database as one of its users. Prints rows, or the refusal in one line."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--as", dest="user", default="ana", choices=passwords.LOGINS, metavar="USER")
        parser.add_argument("query", help='for example "select * from sales.orders limit 3"')

    def handle(self, *_: Any, user: str, query: str, **__: Any) -> None:
        try:
            self.ask(shop.ensure(settings.VAR).url_for(user), query)
        except psycopg.Error as refused:
            if message := refused.diag.message_primary:
                self.refuse(f"{user}: {message} ({refused.sqlstate})")
            # a login that is refused has no such message, but a text of several lines
            last = str(refused).split("FATAL:")[-1].strip()
            self.refuse(f"{user}: {last.splitlines()[0]}")
        except (CannotStart, ValueError) as failed:
            self.refuse(str(failed))

    def ask(self, url: str, query: str) -> None:
        with psycopg.connect(url, options="-c statement_timeout=10s") as connection:
            result = connection.execute(query.encode())
            if result.description is None:
                self.stdout.write(result.statusmessage or "done")
                return
            names = [column.name for column in result.description]
            rows = [[_cell(value) for value in row] for row in result.fetchmany(MOST_ROWS)]
            self.stdout.write(_table(names, rows))
            self.stdout.write(_count(len(rows), result.rowcount))

    def refuse(self, line: str) -> None:
        self.stderr.write(line)
        sys.exit(1)


def _table(names: list[str], rows: list[list[str]]) -> str:
    """The rows below their names, each column as wide as the widest of its cells."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = []
    for cells in (names, ["-" * width for width in widths], *rows):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _count(shown: int, count: int) -> str:
    rows = "1 row" if count == 1 else f"{count} rows"
    return rows if shown == count else f"the first {shown} of {rows}"
