"""Proposed changes as JSON, so that another process can work out what they would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from accounts.models import Principal
from catalog.nodes import Node, nodes
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.errors import Gone
from policies.simulation import changes as proposals
from policies.simulation.changes import Change, Target

Readers = dict[str, Callable[[Any], Any]]
KINDS: dict[str, type[Change]] = {kind.__name__: kind for kind in proposals.Change.__subclasses__()}


def to_json(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Each change by its kind and fields; objects and people by their numbers."""
    return [
        {
            "kind": type(change).__name__,
            **{field.name: _stored(getattr(change, field.name)) for field in fields(change)},  # type: ignore[arg-type]
        }
        for change in changes
    ]


def from_json(root: Node, stored: Sequence[dict[str, Any]]) -> list[Change]:
    """The changes again.  Two queries.  Raises Gone where something that they name is not there any more."""
    placed = nodes(_numbers(stored, "object"))
    people = Principal.objects.in_bulk(_numbers(stored, "principal"))
    readers: Readers = {
        "object": placed.__getitem__,
        "new_role": lambda value: proposals.new_role(root, value[1], value[0]),
        "target": lambda value: Target(_read(value, readers)),
        "text": lambda value: Target.of_text(root, parse(value, others=True)),
        "principal": people.__getitem__,
        "new_principal": lambda value: Principal(kind=value[0], name=value[1]),
        "window": lambda value: tuple(datetime.fromisoformat(item) if item else None for item in value),
        "list": tuple,
    }
    try:
        return [_change(each, readers) for each in stored]
    except KeyError:
        raise Gone("something that these changes name is gone") from None


def _change(stored: dict[str, Any], readers: Readers) -> Change:
    values = {}
    for name, value in stored.items():
        if isinstance(value, dict):
            values[name] = _read(value, readers)
        elif name != "kind":
            values[name] = value
    return KINDS[stored["kind"]](**values)


def _read(value: dict[str, Any], readers: Readers) -> Any:
    [(form, inner)] = value.items()
    return readers[form](inner)


def _stored(value: object) -> object:
    if isinstance(value, Node):
        return {"object": value.id} if value.id > 0 else {"new_role": [value.id, value.name]}
    if isinstance(value, Target):
        return {"text": str(value.entity)} if value.entity else {"target": _stored(value.node)}
    if isinstance(value, Principal):
        return {"principal": value.pk} if value.pk else {"new_principal": [value.kind, value.name]}
    if isinstance(value, tuple) and any(isinstance(item, datetime) or item is None for item in value):
        return {"window": [item.isoformat() if item else None for item in value]}
    return {"list": list(value)} if isinstance(value, tuple) else value


def _numbers(value: object, form: str) -> Iterator[int]:
    """The numbers that stand under a form, however deep."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _numbers(inner, form)
    if isinstance(value, dict) and isinstance(value.get(form), int):
        yield value[form]
