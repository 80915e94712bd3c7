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
    help = "Ask the demo's shop database as one of its users; prints rows, or the refusal in one line."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--as", dest="user", default="ana", choices=passwords.LOGINS, metavar="USER")
        parser.add_argument("query", help='for example "select * from sales.orders limit 3"')

    def handle(self, *_: Any, user: str, query: str, **__: Any) -> None:
        try:
            self.ask(shop.ensure(settings.VAR).url_for(user), query)
        except psycopg.Error as refused:
            in_one_line = (
                f"{refused.diag.message_primary} ({refused.sqlstate})"
                if refused.diag.message_primary
                else str(refused).split("FATAL:")[-1].strip().splitlines()[0]
            )
            self.refuse(f"{user}: {in_one_line}")
        except (CannotStart, ValueError) as failed:
            self.refuse(str(failed))

    def ask(self, url: str, query: str) -> None:
        with psycopg.connect(url, options="-c statement_timeout=10s") as connection:
            asked = connection.execute(query.encode())
            if asked.description is None:
                self.stdout.write(asked.statusmessage or "done")
                return
            rows = asked.fetchmany(MOST_ROWS)
            names = [column.name for column in asked.description]
            cells = [list(names), *([_cell(value) for value in row] for row in rows)]
            widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
            lines = [
                "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
                for line in cells
            ]
            table = "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
            self.stdout.write(table)
            self.stdout.write(_count(len(rows), asked.rowcount))

    def refuse(self, line: str) -> None:
        self.stderr.write(line)
        sys.exit(1)


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _count(shown: int, found: int) -> str:
    rows = "1 row" if found == 1 else f"{found} rows"
    return rows if shown == found else f"the first {shown} of {rows}"
