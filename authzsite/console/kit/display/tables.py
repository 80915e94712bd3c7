"""Lists that are a page and a file: each column is said once, for both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    """By which columns of the database the list is in order, where it is in the order of this column.

    None of them may be empty in a row.  The list opens in the order of the first column that has some.
    """
    term: str = ""
    """The word of the help page that explains the label."""
    code: str = ""
    """By which a saved view names it, and an address that asks for its order; without one it always shows."""
    at_first: bool = True
    """Whether it shows before somebody chose columns."""

    def values(self) -> Mapping[str, Callable[[Item], object]]:
        return {self.file: self.show} if isinstance(self.file, str) else self.file


@dataclass(frozen=True)
class Order:
    """In the order of which column a list is, and whether from its end."""

    column: Column[Any]
    descending: bool = False

    @property
    def by(self) -> tuple[str, ...]:
        """As a query names it."""
        return tuple(f"-{name}" if self.descending else name for name in self.column.sort)

    @property
    def code(self) -> str:
        """As an address names it."""
        return f"-{self.column.code}" if self.descending else self.column.code


@dataclass(frozen=True)
class Head:
    """The label over a column, how the list is in its order, and the address of that order or its reverse."""

    column: Column[Any]
    order: str = ""
    """`ascending` or `descending`; empty when the list is in another order."""
    url: str = ""


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
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]

    def __bool__(self) -> bool:
        return bool(self.rows)


_BY_CODE: dict[str, Table[Any]] = {}


def listed(code: str) -> Table[Any] | None:
    """The list of that code, of those whose columns or views somebody may choose."""
    return _BY_CODE.get(code)


@dataclass(frozen=True)
class Table(Generic[Item]):
    """The columns of a list, in the order of its page; `in_file` gives those of its file their own order.

    With a `code` people choose its columns and keep views of it.
    """

    caption: StrOrPromise
    columns: Sequence[Column[Item]] = ()
    in_file: Sequence[str] = ()
    code: str = ""

    def __post_init__(self) -> None:
        if self.code:
            if self.code in _BY_CODE:
                raise ValueError(f"two lists are called {self.code}")
            _BY_CODE[self.code] = self

    @property
    def choosable(self) -> list[Column[Item]]:
        """The columns that somebody may show or leave out."""
        return [column for column in self.on_page if column.code and column is not self.lead]

    @property
    def on_page(self) -> list[Column[Item]]:
        return [column for column in self.columns if column.label]

    @property
    def lead(self) -> Column[Item] | None:
        """The column that names the row."""
        return next((column for column in self.on_page if column.width != "tick"), None)

    def order(self, asked: str = "") -> Order | None:
        """The order of an address, else that in which the list opens; None where a list has none."""
        sorted_ = [column for column in self.on_page if column.sort]
        named = [column for column in sorted_ if column.code and column.code == asked.removeprefix("-")]
        if named:
            return Order(named[0], asked.startswith("-"))
        return Order(sorted_[0]) if sorted_ else None

    def page(
        self,
        rows: Iterable[Item],
        shown: Collection[str] | None = None,
        heads: Callable[[Column[Item]], Head] | None = None,
    ) -> PageOfTable:
        """Some rows; `shown` are the codes of the columns beside those that always show."""
        columns = self.shown(shown)
        drawn = [[Cell(column, column.show(row), column is self.lead) for column in columns] for row in rows]
        return PageOfTable(self.caption, [(heads or self._head)(column) for column in columns], drawn)

    def shown(self, codes: Collection[str] | None) -> list[Column[Item]]:
        """The columns of a page, of those codes, or as before somebody chose."""
        chosen = {column.code for column in self.choosable if column.at_first} if codes is None else codes
        choosable = self.choosable
        return [column for column in self.on_page if column not in choosable or column.code in chosen]

    def _head(self, column: Column[Item]) -> Head:
        order = self.order()
        return Head(column, "ascending" if order is not None and order.column is column else "")

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
