"""Sentences that are kept as a code with values, so that everybody reads them in their own language.

A value is a name or a number, another sentence, a word of the law, or a list of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
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


@dataclass(frozen=True)
class Word:
    """A label or a word that has a translation of its own."""

    text: str

    def as_data(self) -> dict[str, str]:
        return {"word": self.text}


BOTH = sentence("both", "{first} and {second}")


def joined(items: Sequence[Said]) -> Said:
    """One and another and a third.  Raises TypeError for none."""
    return reduce(lambda first, second: say(BOTH, first=first, second=second), items)


def listed(names: Sequence[str]) -> str:
    """Ana; Ana and Ben; Ana, Ben and Carl."""
    if len(names) < 2:
        return "".join(names)
    return gettext("%(first)s and %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}


def either(names: Sequence[str]) -> str:
    """Ana; Ana or Ben; Ana, Ben or Carl."""
    if len(names) < 2:
        return "".join(names)
    return gettext("%(first)s or %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}


def _data(value: Any) -> Any:
    if isinstance(value, Said | Right | Type | Word):
        return value.as_data()
    return [_data(item) for item in value] if isinstance(value, list | tuple) else value


def in_words(code: str, values: Mapping[str, Any]) -> str:
    """The sentence in the language that is spoken now; "" when its code is known no more."""
    wording = WORDINGS.get(code)
    if wording is None:
        return ""
    text = ngettext(wording.one, wording.many, values[MANY]) if wording.many else gettext(wording.one)
    return text.format_map({name: filled(value) for name, value in values.items()})


def filled(value: Any) -> str:
    """A value as it stands in a sentence, in the language that is spoken now; also one as it is kept."""
    value = _data(value)
    if isinstance(value, dict):
        if "said" in value:
            return in_words(value["said"], value["values"])
        if "right" in value:
            privilege = dialects.get(value["law"]).privilege(value["right"])
            return gettext(privilege.label) if privilege else str(value["right"])
        if "word" in value:
            return gettext(value["word"])
        return pgettext("kind of object", str(value["type"]).replace("_", " "))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(filled, value))
    return str(value)


Reader = Callable[[str], Any]
"""What a value of an English sentence stands for; None when it is nothing of that kind."""


def read_back(text: str, codes: Iterable[str], readers: Mapping[str, Reader] | None = None) -> Said | None:
    """What a sentence says that was kept in English alone: the first of these codes whose wording it has.

    `readers` say of values by name what they stand for, beside `type`, `rights` and the number of a plural.
    """
    readers_: dict[str, Reader] = {"type": _type, "rights": _labels, MANY: int, **(readers or {})}
    for code in codes:
        wording = WORDINGS[code]
        for form in filter(None, (wording.many, wording.one)):
            match = _pattern(form).fullmatch(text)
            if match is None:
                continue
            values = {name: readers_.get(name, str)(value) for name, value in match.groupdict().items()}
            if None not in values.values():
                return Said(code, {MANY: 1, **values} if wording.many else values)
    return None


def _type(text: str) -> Type:
    return Type(text.replace(" ", "_"))


def _labels(text: str) -> list[Word]:
    return [Word(label) for label in text.split(", ")]


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """A wording as a pattern; a type is one that there is, as some have two words.

    What stands before the end of a sentence goes as far as it can: a name may have the words of that end.
    """
    parts = re.split(r"\{(\w+)\}", form)
    kinds = {"type": _types(), MANY: "[0-9]+", **dict.fromkeys(("some", "what", "policy"), ".+")}
    for at in range(1, len(parts), 2):
        parts[at - 1] = re.escape(parts[at - 1])
        parts[at] = f"(?P<{parts[at]}>{kinds.get(parts[at], '.+?')})"
    return re.compile("".join((*parts[:-1], re.escape(parts[-1]))))


def _types() -> str:
    names = {type_ for law in dialects.every() for type_ in law.types}
    spelled = {*names, *(name.replace("_", " ") for name in names)}
    return "|".join(re.escape(name) for name in sorted(spelled, key=len, reverse=True))
