"""Sentences that are kept as a code with values, so that everybody reads them in their own language.

A value is a name or a number, another sentence, a word of the law, or a list of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import translation
from django.utils.translation import gettext, ngettext, pgettext

from lakewarden.law import dialects


@dataclass(frozen=True)
class Wording:
    """How a sentence reads in English; `many`: its plural, for the value of that name."""

    one: str
    many: str = ""


WORDINGS: dict[str, Wording] = {}
MANY = "many"
"""The value by which the plural is chosen."""


def sentence(code: str, one: str, many: str = "") -> str:
    """Register one.  A code registered twice is an error."""
    if code in WORDINGS:
        raise ValueError(f"sentence `{code}` is registered twice")
    WORDINGS[code] = Wording(one, many)
    return code


@dataclass(frozen=True)
class Said:
    """A sentence of a registered code, and what is filled in."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in WORDINGS:
            raise ValueError(f"sentence `{self.code}` is not registered")

    def __str__(self) -> str:
        """In the language that is spoken now."""
        return in_words(self.code, self.values)

    @property
    def english(self) -> str:
        """As it is kept beside its code, and as programs read it."""
        with translation.override(None):
            return str(self)

    def as_data(self) -> dict[str, Any]:
        """As it is kept: JSON."""
        return {"said": self.code, "values": {name: _data(value) for name, value in self.values.items()}}


def say(code: str, **values: Any) -> Said:
    """A sentence with what is filled in."""
    return Said(code, values)


@dataclass(frozen=True)
class Right:
    """A privilege of a law, as its label reads."""

    code: str
    law: str

    def as_data(self) -> dict[str, str]:
        return {"right": self.code, "law": self.law}


@dataclass(frozen=True)
class Type:
    """A kind of object."""

    name: str

    def as_data(self) -> dict[str, str]:
        return {"type": self.name}


def _data(value: Any) -> Any:
    if isinstance(value, Said | Right | Type):
        return value.as_data()
    return [_data(item) for item in value] if isinstance(value, list | tuple) else value


def in_words(code: str, values: Mapping[str, Any]) -> str:
    """The sentence in the language that is spoken now; "" when its code is known no more."""
    known = WORDINGS.get(code)
    if known is None:
        return ""
    text = ngettext(known.one, known.many, values[MANY]) if known.many else gettext(known.one)
    return text.format_map({name: _filled(value) for name, value in values.items()})


def _filled(value: Any) -> str:
    value = _data(value)
    if isinstance(value, dict):
        if "said" in value:
            return in_words(value["said"], value["values"])
        if "right" in value:
            known = dialects.get(value["law"]).privilege(value["right"])
            return gettext(known.label) if known else str(value["right"])
        return pgettext("kind of object", str(value["type"]).replace("_", " "))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_filled, value))
    return str(value)
