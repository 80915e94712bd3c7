"""Entities and patterns as CDAP writes them in JSON: with the id's own fields, or as a map of parts.

Both forms are read by way of the text (`dataset:ns1.orders`), so that what a text may not name, JSON may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity, parse

FIELDS: Mapping[str, tuple[str, ...]] = {
    "instance": ("instance",),
    "namespace": ("namespace",),
    "application": ("namespace", "application"),
    "program": ("namespace", "application", "type", "program"),
    "artifact": ("namespace", "artifact"),
    "dataset": ("namespace", "dataset"),
    "dataset_type": ("namespace", "type"),
    "dataset_module": ("namespace", "module"),
    "stream": ("namespace", "stream"),
    "securekey": ("namespace", "name"),
    "kerberosprincipal": ("principal",),
}
"""The fields of each type's id, in the order of its text; versions are not among them."""

_ABOVE = {"instance": (), "namespace": (), "kerberosprincipal": (), "program": ("namespace", "application")}


def parts_of(type: str) -> tuple[str, ...]:
    """The types of an entity's parts, as a map of parts names them; a program's type is in its own part."""
    return (*_ABOVE.get(type, ("namespace",)), type)


def read_entity(value: object) -> Authorizable:
    """Read `{"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}`.  Raises BadEntity."""
    if not isinstance(value, Mapping):
        raise BadEntity("An entity must be a JSON object.")
    if value.get("entity") is None:
        raise BadEntity("Expected entity in EntityId JSON")
    type = _type(value["entity"])
    sent = [value.get(field) for field in FIELDS[type]]
    if type == "program" and value.get("type") is None and value.get("program") == "*":
        sent.remove(None)
    return _made(type, sent)


def read_authorizable(value: object) -> Authorizable:
    """Read `{"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns1", …}}`.  Raises BadEntity."""
    if not isinstance(value, Mapping):
        raise BadEntity("An authorizable must be a JSON object.")
    if value.get("childType") is not None:
        raise BadEntity("Privileges on the children of an entity are not known in this generation.")
    type, parts = _type(value.get("entityType")), value.get("entityParts")
    if not isinstance(parts, Mapping) or any(not isinstance(key, str) for key in parts):
        raise BadEntity("An authorizable needs its entityParts.")
    by_name = {key.lower(): part for key, part in parts.items()}
    names = parts_of(type)
    if set(by_name) != set(names) or len(by_name) != len(parts):
        raise BadEntity(f"The entityParts of {type} are {', '.join(map(str.upper, names))}.")
    return _made(type, [*(by_name[name] for name in names[:-1]), *_last(type, by_name[type])])


def write_entity(target: Authorizable) -> dict[str, str]:
    """The id's own fields and its type, as CDAP 3.4 and 3.5 write them."""
    fields = FIELDS[target.type]
    if target.type == "program" and len(target.parts) == len(fields) - 1:
        fields = ("namespace", "application", "program")
    wire = dict(zip(fields, target.parts))
    if "type" in wire and target.type == "program":
        wire["type"] = wire["type"].capitalize()
    return {**wire, "entity": target.type.upper()}


def write_authorizable(target: Authorizable) -> dict[str, Any]:
    """The type and the map of parts, as CDAP 4.3 and later write them."""
    names = parts_of(target.type)
    values = [*target.parts[: len(names) - 1], ".".join(target.parts[len(names) - 1 :])]
    parts = {name.upper(): value for name, value in zip(names, values)}
    return {"entityType": target.type.upper(), "entityParts": parts}


def _type(value: object) -> str:
    if not isinstance(value, str) or value.lower() not in FIELDS:
        raise BadEntity(f"Entity type {value} does not support authorization.")
    return value.lower()


def _last(type: str, value: object) -> list[object]:
    if type == "program" and isinstance(value, str) and value != "*":
        return list(value.split(".", 1))
    return [value]


def _made(type: str, sent: Sequence[object]) -> Authorizable:
    parts = tuple(part for part in sent if isinstance(part, str) and part)
    if len(parts) != len(sent):
        raise BadEntity(f"Every part of the name of a {type} must be a text that is not empty.")
    if type == "program" and len(parts) > 3:
        parts = (*parts[:2], parts[2].lower(), *parts[3:])
    made = parse(f"{type}:{'.'.join(parts)}")
    if made.parts != parts:
        # `{"namespace": "a.b", "dataset": "c"}` would else be the dataset `b.c` of the namespace `a`
        raise BadEntity(f"`{made}` is another name than {', '.join(parts)}.")
    return made
