"""Request bodies, read strictly: a field that is not known, or not of its kind, makes the body malformed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, UnreadablePostError

from authzsite.api.gravitino.errors import Problem, illegal, malformed

DEEPEST = 60
Reader = Callable[[Any], Any]


def read(request: HttpRequest) -> Any:
    """The JSON of a request's body, None when there is none.  Raises Problem."""
    try:
        content = request.body
        return _checked(_parsed(content)) if content.strip() else None
    except Problem:
        raise
    except RequestDataTooBig:
        raise Problem(413, 1001, "IllegalArgumentException", "The request is too large") from None
    except (ValueError, RecursionError, UnreadablePostError):
        raise malformed() from None


def _parsed(content: bytes) -> Any:
    return json.loads(content, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        # two readers could each believe another of the two
        raise malformed("a name stands twice in one object")
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _checked(value: Any) -> Any:
    """The value, if the database can keep all of it: no NUL, no half characters, no depth without end."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        if not level:
            return value
        level = [inner for item in level for inner in _inside(item)]
    raise malformed("nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        if "\0" in value or (not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)):
            raise malformed("a text holds what is no character")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise malformed("a number is out of range")
    elif isinstance(value, dict):
        return [*value, *value.values()]
    elif isinstance(value, list):
        return value
    return ()


# what a field may hold


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise malformed("a text is wanted")
    return value


def filled(value: Any) -> str:
    if not text(value).strip():
        raise illegal("a required field is blank")
    return str(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise malformed("true or false is wanted")
    return value


def number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise malformed("a number is wanted")
    return value


def anything(value: Any) -> Any:
    return value


def mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise malformed("an object is wanted")
    return value


def strings(value: Any) -> dict[str, str]:
    """Texts by name; a number or a truth value among them is taken as its text."""
    return {key: _as_text(item) for key, item in mapping(value).items() if item is not None}


def _as_text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise malformed("a text is wanted")
    return value if isinstance(value, str) else json.dumps(value)


def listed(reader: Reader) -> Reader:
    def items(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise malformed("a list is wanted")
        return [reader(item) for item in value]

    return items


def some(reader: Reader) -> Reader:
    """A list that is not empty."""

    def items(value: Any) -> list[Any]:
        items: list[Any] = listed(reader)(value)
        if not items:
            raise illegal("a list that must hold something is empty")
        return items

    return items


def one_of(*words: str) -> Reader:
    """One of some words, in any case."""

    def word(value: Any) -> str:
        if text(value).lower() not in words:
            raise malformed(f"not one of {', '.join(words)}")
        return str(value).lower()

    return word


class Field(NamedTuple):
    reader: Reader
    required: bool = False


def required(reader: Reader) -> Field:
    return Field(reader, True)


def shape(fields: Mapping[str, Reader | Field]) -> Reader:
    """A reader of objects with these fields and no others; those absent or null are left out."""
    known_fields = {
        name: field if isinstance(field, Field) else Field(field) for name, field in fields.items()
    }

    def read_shape(value: Any) -> dict[str, Any]:
        unknown = mapping(value).keys() - known_fields.keys()
        if unknown:
            raise malformed(f'Unrecognized field "{min(unknown)}"')
        given = {name: item for name, item in value.items() if item is not None}
        for name, field in known_fields.items():
            if field.required and name not in given:
                raise illegal(f'"{name}" field is required and cannot be empty')
        return {name: _field(name, known_fields[name], value) for name, value in given.items()}

    return read_shape


def _field(name: str, field: Field, value: Any) -> Any:
    try:
        return field.reader(value)
    except Problem as problem:
        raise illegal(f'{problem.message} ("{name}")') from None


def tagged(shapes: Mapping[str, Mapping[str, Reader | Field]]) -> Reader:
    """A reader of objects whose `@type` says which shape they have."""
    readers = {name: shape({"@type": text, **fields}) for name, fields in shapes.items()}

    def read_tagged(value: Any) -> dict[str, Any]:
        name = mapping(value).get("@type")
        if not isinstance(name, str) or name not in readers:
            raise malformed("unknown @type")
        values: dict[str, Any] = readers[name](value)
        return values

    return read_tagged


def updates(shapes: Mapping[str, Mapping[str, Reader | Field]]) -> Reader:
    """A reader of `{"updates": [...]}`."""
    return shape({"updates": required(listed(tagged(shapes)))})


RENAME = {"rename": {"newName": required(filled)}}
COMMENT = {"updateComment": {"newComment": text}}
PROPERTIES: dict[str, dict[str, Reader | Field]] = {
    "setProperty": {"property": required(filled), "value": required(text)},
    "removeProperty": {"property": required(filled)},
}
