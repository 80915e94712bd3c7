"""The rows that `facts` reads, each as the text that its seal is for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from accounts.fact_content import content, plain
from accounts.models import Principal
from accounts.seals import is_sealed
from policies.decisions.cache_versions import principal_key, realm_key, role_key


class SealedRow(NamedTuple):
    """What the one statement brings of a fact, in the order of its columns; `kind` says which are used."""

    kind: str
    one: Any
    other: Any
    text: Any
    effect: Any
    start: datetime | None
    end: datetime | None
    opened: Any
    pk: Any
    pattern: Any
    closed: Any
    seal: bytes | None
    origin: Any
    written: Any
    realm: Any

    @property
    def window(self) -> tuple[float | None, float | None]:
        """From when until when it holds, in seconds."""
        return (
            self.start.timestamp() if self.start else None,
            self.end.timestamp() if self.end else None,
        )


MODELS = {
    "mode": "mode",
    "member": "realmmember",
    "group": "membership",
    "role": "assignment",
    "grant": "grant",
    "direct": "grant",
    "owner": "ownership",
    "principal": "principal",
    "realm": "realm",
}
"""The kinds of rows that bear seals, with the names of their models: facts, and whom they speak of."""


OF_HOLDERS = frozenset({"member", "group", "role", "principal"})
"""Those that are read again with every question about many people."""
KEPT = 60_000
"""So many rows whose seals were found good are held; they take about half a kB each."""

_good: set[SealedRow] = set()
_good_by: tuple[str, ...] = ()


def content_of_row(row: SealedRow) -> bytes:
    """The text of a fact: what `content_of` makes of the model's own row, without making that."""
    return content(MODELS[row.kind], row.pk, row.opened, row.closed, *_values(row))


def is_row_good(row: SealedRow) -> bool:
    """Whether a row has the seal that it needs, if any."""
    return row.kind not in MODELS or is_sealed(content_of_row(row), row.seal)


def judged(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[SealedRow, bool]]:
    """The rows of the one statement, and of each whether it has the seal that it needs.

    A row that is in every column, its seal included, as one whose seal was found good by the same keys needs
    no look at them again.
    """
    global _good, _good_by
    keys = tuple(settings.LAKEWARDEN_SECRET_KEYS)
    if keys != _good_by:
        _good, _good_by = set(), keys
    good_rows = _good
    for row in map(SealedRow._make, rows):
        if row in good_rows:
            yield row, True
            continue
        good = is_row_good(row)
        if good and row.kind in OF_HOLDERS:
            if len(good_rows) >= KEPT:
                good_rows.pop()
            good_rows.add(row)
        yield row, good


def are_good(people: Iterable[Principal]) -> bool:
    """Whether all of some principals are as the console wrote them; seals that were found good are known."""
    return all(good for _, good in judged(map(_row_of, people)))


def _row_of(person: Principal) -> tuple[Any, ...]:
    return (
        "principal",
        person.pk,
        int(person.erased),
        person.name,
        person.kind,
        None,
        None,
        person.edition,
        person.pk,
        person.pseudonym,
        None,
        person.seal,
        person.display_name,
        None,
        None,
    )


def principal_of(row: SealedRow) -> Principal:
    """The principal whose row it is."""
    person = Principal(
        pk=row.pk,
        kind=row.effect,
        name=row.text,
        display_name=row.origin,
        pseudonym=row.pattern,
        erased=bool(row.other),
        edition=row.opened,
        seal=row.seal,
    )
    person._state.adding = False  # as one out of its table, whose seal is looked at
    return person


def _values(row: SealedRow) -> tuple[Any, ...]:
    # in the order of `fact_columns`: by the columns' names
    window = (plain(row.start), plain(row.end)) if row.start or row.end else (None, None)
    match row.kind:
        case "mode":
            return row.text, row.origin, row.realm, *window
        case "member":
            return row.origin, row.one, row.realm, *window
        case "group":
            return row.other, row.one, row.origin, *window
        case "role":
            return row.one, row.origin, row.other, *window
        case "owner":
            return row.origin, row.one, row.other, *window
        case "realm":
            # the database keeps no order of keys
            return row.effect, json.loads(json.dumps(json.loads(row.text), sort_keys=True))
        case "principal":
            # in the order of `Principal.SEALED`: kind, name, display_name, pseudonym, erased
            return row.effect, row.text, row.origin, row.pattern, bool(row.other)
    role, holder = (row.one, None) if row.kind == "grant" else (None, row.one)
    given = (row.effect, holder, row.origin, row.pattern, row.text, row.realm)
    return *given, role, row.other, *window, row.written


def key_of_row(row: SealedRow) -> str:
    """Whose answers a fact can change: a key of those that cached slices have."""
    match row.kind:
        case "mode" | "realm":
            return realm_key(row.realm)
        case "grant":
            return role_key(row.one)
    return principal_key(row.one)
