"""What bodies and answers of calls are made of: nothing is coerced, trimmed or overlooked.

A message says what a field must be; the name of the field is put before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.validators import MaxLengthValidator
from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.settings import api_settings

from accounts.text import holdable
from authzsite.api.strictjson import BadBody, read_object
from policies.record.revisions import moment_in

MAYBE: dict[str, Any] = {"default": None, "allow_null": True}
"""Of a field that may be left out, or be null."""


def _always(message: str) -> dict[str, Any]:
    """One message for a value that is missing, null or of another kind."""
    return dict.fromkeys(("invalid", "required", "null", "blank", "not_a_list", "not_a_dict"), message)


class Text(serializers.CharField):
    """A text as it was sent; with `max_length` also one that the database can hold."""

    default_error_messages = _always("must be a text") | {
        "max_length": "must be a text of at most {max_length} characters"
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)
        # what cannot be kept is no mistake in a question: nothing has that name
        self.validators = [each for each in self.validators if isinstance(each, MaxLengthValidator)]

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None and self.allow_null and not self.required:
            return True, self.get_default()
        return super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if self.max_length is not None and not holdable(data):
            self.fail("max_length", max_length=self.max_length)
        return data


class OptionalText(Text):
    """A text that may be left out, null or empty, which are the same."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"default": "", "allow_null": True, "allow_blank": True} | options)


class Whole(serializers.IntegerField):
    default_error_messages = _always("must be a whole number") | {
        "min_value": "must be a whole number from {min_value}",
        "max_value": "must be a whole number to {max_value}",
    }

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class Number(serializers.FloatField):
    default_error_messages = _always("must be a number") | {
        "min_value": "must be a number from {min_value}",
        "max_value": "must be a number to {max_value}",
    }

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        try:
            return float(data)
        except OverflowError:
            self.fail("invalid")


class Flag(serializers.BooleanField):
    default_error_messages = _always("must be true or false")

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class Moment(serializers.DateTimeField):
    """A time as ISO 8601 writes it; a day alone begins it, or ends it where the `whole_day` is meant."""

    default_error_messages = _always("must be a time such as 2026-01-31T12:00:00Z")

    def __init__(self, *, whole_day: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.whole_day = whole_day

    def to_internal_value(self, data: Any) -> datetime:
        time = moment_in(data, whole=self.whole_day) if isinstance(data, str) else None
        if time is None:
            self.fail("invalid")
        return time

    def to_representation(self, value: datetime | str) -> str:
        # what is kept as JSON is written already
        return value if isinstance(value, str) else value.isoformat()


class Listed(serializers.ListField):
    """A list of one kind of item."""

    default_error_messages = _always("must be a list") | {
        "max_length": "holds more than {max_length} items",
        "min_length": "must be a list of at least {min_length}",
    }

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        if self.max_length is not None and len(data) > self.max_length:
            # before each of them is looked at
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class AnyObject(serializers.DictField):
    """An object whose fields are not looked at."""

    default_error_messages = _always("must be an object")


class PrincipalName(Text):
    """Somebody by kind and name."""

    def to_representation(self, value: Any) -> str:
        return str(value)


class Shape(serializers.Serializer[Any]):
    """An object whose fields are all known, unless it is open."""

    is_open = False


class Answer(Shape):
    """What a call answers."""

    @classmethod
    def of_each(cls, items: Iterable[object]) -> list[dict[str, Any]]:
        """The answers for several, by one serializer: making one costs more than using it."""
        return list(cls(items, many=True).data)


class Either(Shape):
    """One of several shapes; for descriptions only."""

    shapes: Sequence[type[Shape]] = ()


class Body(Shape):
    """What a call is sent; a field that is not known is refused, as it may have been meant to count."""

    default_error_messages = _always("must be an object")

    @classmethod
    def read(cls, request: Request, *, optional: bool = False) -> dict[str, Any]:
        """The values of the body that was sent, which may be none where it is optional.  Raises BadBody."""
        sent = {} if optional and not request._request.body else read_object(request._request)
        try:
            return cls().run_validation(sent)  # type: ignore[no-any-return]
        except serializers.ValidationError as error:
            raise BadBody(_sentence(error.detail)) from None

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            for name in data:
                if name not in self.fields:
                    raise serializers.ValidationError({name[:64]: ["is no field of this body"]})
        return super().to_internal_value(data)  # type: ignore[no-any-return]


def _sentence(detail: Any, name: str = "") -> str:
    """The first thing that is wrong, after the name of its field."""
    if isinstance(detail, dict):
        key, inner = next(iter(detail.items()))
        if isinstance(key, int):
            key = f"{name}: an item"
        return _sentence(inner, name if key == api_settings.NON_FIELD_ERRORS_KEY else key)
    return f"{name} {detail[0]}" if name else str(detail[0])


class Closed(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """In the description too there are no other fields."""

    target_class = Shape
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        if isinstance(self.target, Either):
            return {
                "anyOf": [
                    auto_schema.resolve_serializer(shape, direction).ref for shape in self.target.shapes
                ]
            }
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        if type(self.target).__doc__ is None:
            schema.pop("description", None)  # that of the class above
        for field in schema.get("properties", {}).values():
            field.pop("x-spec-enum-id", None)  # a mark for hooks that are not used
        return schema if self.target.is_open else {**schema, "additionalProperties": False}


class Reference(Body):
    """An object by its type and id."""

    type = Text()
    id = Text(help_text="such as demo/shop.sales.orders")
