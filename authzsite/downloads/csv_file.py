"""Lists as CSV files: streamed, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar

from django.http import StreamingHttpResponse

RISKY = ("=", "+", "-", "@", "\t", "\r")
BLANK = " \t\r\n\v\f\u00a0\u200b\ufeff"
CHUNK = 1000
"""So many rows are read at a time."""
One = TypeVar("One")


class _Line:
    def write(self, text: str) -> str:
        return text


def cell(value: object) -> str:
    """A value that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    # some programs pass over what is blank before a formula
    return f"'{text}" if text.startswith(RISKY) or text.lstrip(BLANK).startswith(RISKY) else text


def chunks(rows: Iterable[One]) -> Iterator[list[One]]:
    """A long list in parts, so that what belongs to each row is read for many at once."""
    rest = iter(rows)
    while some := list(islice(rest, CHUNK)):
        yield some


def moment(when: datetime | None) -> str:
    """2026-03-01T12:00:00+00:00; nothing for no time."""
    return when.isoformat() if when else ""


def answer(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """A download of that name; `rows` are read while it is sent."""
    response = StreamingHttpResponse(_lines(head, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(head)
    for row in rows:
        yield writer.writerow([cell(value) for value in row])
