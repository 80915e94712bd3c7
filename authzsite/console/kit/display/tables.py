"""Lists that are a page and a file: each column is said once, for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.http import StreamingHttpResponse
from django.utils.functional import Promise

from authzsite.console.kit.display.parts import StrOrPromise
from authzsite.downloads import csv_file

Item = TypeVar("Item")


@dataclass(frozen=True)
class Text:
    """A cell that is more than plain words: a link, a code, a line below, or paler than the rest."""

    template: ClassVar[str] = "parts/text.html"
    text: StrOrPromise
    url: str = ""
    code: str = ""
    note: str = ""
    muted: bool = False


@dataclass(frozen=True)
class Tick:
    """A box to choose a row by; `locked` rows have none."""

    template: ClassVar[str] = "parts/tick_row.html"
    name: str
    value: object
    label: str
    locked: bool = False


@dataclass(frozen=True)
class Column(Generic[Item]):
    """What a page shows of a row under a label: plain words or a part; and by which names a file holds it.

    `file` answers the values by the names of the file's columns; its text alone, where that is a name.
    Without a label it stands in the file alone, without `file` on the page alone.
    """

    label: StrOrPromise = ""
    show: Callable[[Item], Any] = lambda row: ""
    file: str | Mapping[str, Callable[[Item], object]] = field(default_factory=dict)
    width: str = ""
    """The class of its cells; `tick` and `acts` are the boxes and the buttons."""
    sort: tuple[str, ...] = ()
    """By which columns of the database the list is in order, where it is in the order of this column."""
    term: str = ""
    """The word of the help page that explains the label."""

    def values(self) -> Mapping[str, Callable[[Item], object]]:
        return {self.file: self.show} if isinstance(self.file, str) else self.file


@dataclass(frozen=True)
class Cell:
    column: Column[Any]
    shown: Any
    leads: bool

    @property
    def unlabelled(self) -> bool:
        """Whether a narrow screen, which writes the label before each cell, leaves it out."""
        return self.column.width in ("tick", "acts") or not self.shown

    @property
    def plain(self) -> bool:
        return isinstance(self.shown, str | Promise)


@dataclass(frozen=True)
class PageOfTable:
    """Some rows of a table as a page draws them."""

    template: ClassVar[str] = "parts/table.html"
    caption: StrOrPromise
    columns: Sequence[Column[Any]]
    rows: Sequence[Sequence[Cell]]

    def __bool__(self) -> bool:
        return bool(self.rows)


@dataclass(frozen=True)
class Table(Generic[Item]):
    """The columns of a list, in the order of its page; `in_file` gives those of its file their own order."""

    caption: StrOrPromise
    columns: Sequence[Column[Item]]
    in_file: Sequence[str] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """By which columns of the database the list is in order."""
        return next((column.sort for column in self.columns if column.sort), ())

    def page(self, rows: Iterable[Item]) -> PageOfTable:
        columns = [column for column in self.columns if column.label]
        lead = next(column for column in columns if column.width != "tick")
        drawn = [[Cell(column, column.show(row), column is lead) for column in columns] for row in rows]
        return PageOfTable(self.caption, columns, drawn)

    def file(self, name: str, rows: Iterable[Item]) -> StreamingHttpResponse:
        """The same columns of rows that are read while they are sent."""
        values = {name: value for column in self.columns for name, value in column.values().items()}
        head = self.in_file or list(values)
        lines = ([values[name](row) for name in head] for row in rows)
        return csv_file.answer(name, head, lines)


def in_chunks(rows: Iterable[Any], made: Callable[[list[Any]], Iterable[Item]]) -> Iterator[Item]:
    """Rows of a table made of a long list, so that what belongs to each is read for many at once."""
    for some in csv_file.chunks(rows):
        yield from made(some)
