"""What a fact states: the one definition for the record, for seals and for a replay of the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import Any

from django.db.models import Model

from accounts.record import Fact, fact_columns


def fact_code(fact: Fact) -> str:
    """The name of a fact in the record: `grant:17`."""
    return f"{fact._meta.model_name}:{fact.pk}"


def fact_values(fact: Fact) -> dict[str, Any]:
    """Everything a fact states, so that the record alone can tell it again; people by number, not by name."""
    return {name: plain(getattr(fact, name)) for name in fact_columns(type(fact))}


def values_told(model: type[Model], state: Mapping[str, Any]) -> dict[str, Any]:
    """What an event's `state` says of a fact, in the form of `fact_values`.

    The name of a personal role is told by its person's pseudonym there, as `told` of `change.begin` says.
    """
    # a column that came later has what it then was given on every row
    defaults = {field.attname: field.get_default() for field in model._meta.concrete_fields}
    values = {name: plain(defaults[name]) for name in fact_columns(model)} | dict(state)
    for name in ("valid_from", "valid_until"):
        if values[name] is not None:
            values[name] = plain(datetime.fromisoformat(values[name]))
    return values


def content(model_name: str, pk: int, opened: int, closed: int | None, *values: Any) -> bytes:
    """One text for one fact at one time; `values` are those of `fact_columns`, in that order, made plain."""
    return "".join(_PARTS([model_name, pk, opened, closed, *values], 0)).encode()


_ENCODER = json.JSONEncoder(check_circular=False)
# what `_ENCODER.encode` makes anew for each text; made once, because a slice may have ten thousand facts
_PARTS = c_make_encoder(None, _ENCODER.default, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def content_of(fact: Fact) -> bytes:
    """The text of a fact as it is."""
    values = (plain(getattr(fact, name)) for name in fact_columns(type(fact)))
    return content(str(fact._meta.model_name), fact.pk, fact.opened, fact.closed, *values)


def plain(value: Any) -> Any:
    """A column's value as the record has it; a moment is told in UTC, wherever its clock stands."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
