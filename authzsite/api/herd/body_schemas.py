"""What a body looks like, said once; read from JSON or XML and written as either.

Values are plain: text, numbers and booleans, lists, and dicts by field name; what is absent is None.  Unknown
fields are ignored, as the original ignores them; nothing is coerced from one type to another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from xml.etree.ElementTree import Element, SubElement

from authzsite.api.strictjson import BadBody

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


HIGHEST = 2**31
"""Numbers of versions stay below this."""


class Shape(Protocol):
    """One kind of value on the wire."""

    def from_json(self, value: Any) -> Any: ...

    def from_xml(self, element: Element) -> Any: ...

    def to_xml(self, value: Any, element: Element) -> None: ...


@dataclass(frozen=True)
class Text:
    """A text."""

    def from_json(self, value: Any) -> str:
        if not isinstance(value, str):
            raise BadBody("a text is expected where there is none")
        return value

    def from_xml(self, element: Element) -> str:
        if len(element):
            raise BadBody(f"a text is expected in {element.tag}")
        return element.text or ""

    def to_xml(self, value: Any, element: Element) -> None:
        element.text = _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", str(value))


@dataclass(frozen=True)
class Whole:
    """A whole number that is not below zero."""

    def from_json(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < HIGHEST:
            raise BadBody("a whole number is expected where there is none")
        return value

    def from_xml(self, element: Element) -> int:
        return self.from_text((element.text or "").strip())

    def from_text(self, text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(HIGHEST))):
            raise BadBody("a whole number is expected where there is none")
        return self.from_json(int(text))

    def to_xml(self, value: Any, element: Element) -> None:
        element.text = str(value)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def from_json(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise BadBody("true or false is expected where there is neither")
        return value

    def from_xml(self, element: Element) -> bool:
        text = (element.text or "").strip()
        if text not in ("true", "false", "1", "0"):
            raise BadBody(f"true or false is expected in {element.tag}")
        return text in ("true", "1")

    def to_xml(self, value: Any, element: Element) -> None:
        element.text = "true" if value else "false"


@dataclass(frozen=True)
class Many:
    """A list; in XML each entry stands in an element of the name `entry`."""

    entry: str
    shape: Shape

    def from_json(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise BadBody("a list is expected where there is none")
        return [self.shape.from_json(item) for item in value]

    def from_xml(self, element: Element) -> list[Any]:
        return [self.shape.from_xml(item) for item in element if item.tag == self.entry]

    def to_xml(self, value: Any, element: Element) -> None:
        for item in value:
            self.shape.to_xml(item, SubElement(element, self.entry))


@dataclass(frozen=True)
class Record:
    """Named fields; `name` is the element it is in XML when it is the whole body."""

    name: str
    fields: Mapping[str, Shape]

    def from_json(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise BadBody("an object is expected where there is none")
        sent = {name: value[name] for name in self.fields if value.get(name) is not None}
        return {
            name: self.fields[name].from_json(sent[name]) if name in sent else None for name in self.fields
        }

    def from_xml(self, element: Element) -> dict[str, Any]:
        values: dict[str, Any] = dict.fromkeys(self.fields)
        for child in element:
            if child.tag in values:
                if values[child.tag] is not None:
                    raise BadBody(f"{child.tag} stands twice in {element.tag}")
                values[child.tag] = self.fields[child.tag].from_xml(child)
        return values

    def to_xml(self, value: Any, element: Element) -> None:
        for name, shape in self.fields.items():
            if value.get(name) is not None:
                shape.to_xml(value[name], SubElement(element, name))
