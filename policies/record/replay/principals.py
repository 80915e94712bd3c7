"""Whom facts speak of: the record knows people by pseudonym, tables by number, and both mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from accounts.models import Principal
from accounts.record import Fact
from policies.decisions import personal_role_names
from policies.models import Event
from policies.record.replay.differences import Difference


def differences(begun: Iterable[tuple[type[Fact], Event]]) -> Iterator[Difference]:
    """Every fact whose event names other people than those whom its row now leads to.  One query."""
    spoken = [(event, _numbers(model, event)) for model, event in begun if event.people]
    rows = Principal.objects.in_bulk({number for _, numbers in spoken for number in numbers})
    seen: set[int] = set()
    for event, numbers in spoken:
        for number in numbers:
            row = rows.get(number)
            if number in seen or (row is not None and row.pseudonym in event.people):
                continue
            seen.add(number)
            claim = f"the pseudonym {row.pseudonym}" if row else "no such row"
            record = f"{' or '.join(event.people)} (revision {event.change_id})"
            yield Difference(f"principal {number}", record, claim, Principal._meta.db_table)


def _numbers(model: type[Fact], event: Event) -> list[int]:
    state = event.data["state"]
    return [state[name] for name in _columns(model) if state.get(name) is not None]


@cache
def _columns(model: type[Fact]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields if field.related_model is Principal)


def is_personal(placement: Mapping[str, Any]) -> bool:
    """Whether it is the name of somebody's own role, which the record tells by pseudonym."""
    return placement.get("type") == "role" and personal_role_names.is_personal(str(placement.get("name", "")))


def personal_name(told: str) -> str:
    """What the role is called in its table; of an erased person it is called there as in the record."""
    person = Principal.objects.filter(
        pseudonym=told.removeprefix(personal_role_names.MARK), erased=False
    ).first()
    return personal_role_names.name_for(person) if person else told
