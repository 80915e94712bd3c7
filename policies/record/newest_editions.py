"""Whether a sealed row is as the console last wrote it, by what the record tells of its editions.

Whoever can write into the database may put a row back as it was, with the seal that it then had.  They cannot
take out of the record that there was a later edition: the chain would break (adr 0056).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from django.db.models import Model

from accounts.editions import Written, code_of, note, noted
from accounts.models.sealing import Sealed
from policies.events import BACKEND_AGREED, DETAILS_CONFIRMED, NAMES_CONFIRMED, POLICY_APPLIED
from policies.models import Event

EditedRow = TypeVar("EditedRow", bound=Model)
IN_EVENT = "editions"
"""Where an event tells the editions that its change made."""
ANSWERS = frozenset(
    {
        *(BACKEND_AGREED, DETAILS_CONFIRMED, NAMES_CONFIRMED, POLICY_APPLIED),
        *("request.approved", "request.approved_less"),
    }
)
"""By these events somebody answers for rows as they stand, whatever was told of them before."""


class Editions:
    """What the record tells of editions: the newest of each row, and of which rows it tells one twice.

    Editions of a row only grow.  Where one is told that is not beyond all before, the console went on from an
    earlier state, which somebody had put back.
    """

    def __init__(self) -> None:
        self.newest: dict[str, int] = {}
        self.forked: set[str] = set()

    def take(self, kind: str, numbers: Mapping[str, int]) -> None:
        """The next event that tells of any."""
        for code, edition in numbers.items():
            if kind in ANSWERS:
                self.forked.discard(code)
            elif edition <= self.newest.get(code, 0):
                self.forked.add(code)
            self.newest[code] = max(edition, self.newest.get(code, 0))

    def is_newest(self, code: str, edition: int) -> bool:
        return code not in self.forked and edition >= self.newest.get(code, 0)


def among(rows: Iterable[EditedRow]) -> list[EditedRow]:
    """Those of some rows with editions that are no earlier state.  One query; none for no rows."""
    held: list[Any] = list(rows)
    if not held:
        return []
    editions = _known_of(map(code_of, held))
    return [row for row in held if editions.is_newest(code_of(row), row.edition)]


def answer_for(rows: Collection[Sealed]) -> None:
    """Seal rows as they stand, each as its newest edition: for whose word it is, within their change."""
    editions = _known_of(map(code_of, rows))
    for row in rows:
        # without a good seal its own may be any number
        row.edition = max(editions.newest.get(code_of(row), 0), row.edition if row.is_sealed else 0) + 1
        row.put_seal()
        note(type(row), row.pk, row.edition)


def told_of(rows: Collection[Any]) -> dict[int, int]:
    """The newest edition of each of some rows, by what the record tells and this change will.  One query."""
    codes = {code_of(row): row for row in rows}
    newest = _known_of(codes).newest if codes else {}
    return {row.pk: max(newest.get(code, 0), noted(type(row), row.pk)) for code, row in codes.items()}


def in_event(written: Written) -> dict[str, int]:
    """What an event tells of what its change wrote, if it stayed written.  One query for each kind of row."""
    numbers: dict[type[Model], list[int]] = {}
    for model, number in written:
        numbers.setdefault(model, []).append(number)
    editions: dict[str, int] = {}
    for model, some in numbers.items():
        rows: Any = model._base_manager.filter(pk__in=some).order_by("pk")
        if not has_editions(model):
            existing = set(rows.values_list("pk", flat=True))
            editions |= {
                f"{model._meta.model_name}:{pk}": written[model, pk] for pk in some if pk not in existing
            }
            continue
        kept = rows.values_list("pk", "edition")
        editions |= {f"{model._meta.model_name}:{pk}": n for pk, n in kept if written[model, pk] == n}
    return editions


def has_editions(model: type[Model]) -> bool:
    """Whether rows are written again; the others are told of when they are removed."""
    return any(field.name == "edition" for field in model._meta.concrete_fields)


def _known_of(codes: Iterable[str]) -> Editions:
    editions_, wanted = Editions(), list(codes)
    rows = Event.objects.filter(data__has_key=IN_EVENT, data__editions__has_any_keys=wanted)
    for kind, editions in rows.order_by("change", "number").values_list("kind", "data__editions"):
        editions_.take(kind, {code: editions[code] for code in wanted if code in editions})
    return editions_
