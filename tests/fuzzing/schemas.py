"""What each surface reads, as JSON schemas: taken from its own description where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getclosurevars
from typing import Any

from authzsite.api.gravitino import bodies, columns
from authzsite.api.herd import body_schemas

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}


def record(**fields: Schema) -> Schema:
    """An object whose fields all belong there."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def besides(schema: Schema, **fields: Schema) -> Schema:
    """The same object with fields that may be left out."""
    return {**schema, "properties": {**schema["properties"], **fields}}


def a_word(*words: str) -> Schema:
    return {"enum": list(words)}


def listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def of_record(shape: body_schemas.Shape) -> Schema:
    """A body as Herd declares it."""
    if isinstance(shape, body_schemas.Record):
        return record(**{name: of_record(field) for name, field in shape.fields.items()})
    if isinstance(shape, body_schemas.Many):
        return listed(of_record(shape.shape))
    return {"type": {body_schemas.Whole: "integer", body_schemas.Flag: "boolean"}.get(type(shape), "string")}


# Gravitino declares its bodies as functions made of functions

_PLAIN: Mapping[Any, Schema] = {
    bodies.text: TEXT,
    bodies.filled: TEXT,
    bodies.flag: {"type": "boolean"},
    bodies.number: {"type": "integer"},
    bodies.strings: {"type": "object", "additionalProperties": TEXT},
    bodies.mapping: {"type": "object"},
}


def of_reader(reader: Any, depth: int = 0) -> Schema:
    """A body as Gravitino's surface declares it; anything where that cannot be told."""
    if reader in _PLAIN:
        return _PLAIN[reader]
    if depth > 6:
        return {}
    if reader in (columns.data_type, columns.expression):
        shapes = columns._MADE if reader is columns.data_type else columns._EXPRESSIONS
        return {"oneOf": [_named(name, shape, depth) for name, shape in shapes.items()] + [a_word("long")]}
    inside = getclosurevars(reader).nonlocals
    if "known_fields" in inside:
        fields = {name: of_reader(field.reader, depth + 1) for name, field in inside["known_fields"].items()}
        needed = [name for name, field in inside["known_fields"].items() if field.required]
        return {"type": "object", "properties": fields, "required": needed}
    if "readers" in inside:
        return {"oneOf": [_named(name, reader, depth, "@type") for name, reader in inside["readers"].items()]}
    if "words" in inside:
        return a_word(*inside["words"])
    return listed(of_reader(inside["reader"], depth + 1)) if "reader" in inside else {}


def _named(name: str, reader: Any, depth: int, field: str = "type") -> Schema:
    schema = of_reader(reader, depth + 1)
    return {
        **schema,
        "properties": {**schema.get("properties", {}), field: a_word(name)},
        "required": [*schema.get("required", ()), field],
    }


# AuthZEN 1.0, which comes as a text and with no file

_ENTITY = record(
    type=a_word("user", "group", "service", "table", "schema", "catalog", "metalake", "namespace", "dataset"),
    id=TEXT,
)
_ENTITY["properties"]["properties"] = {"type": "object"}
_ACTION = record(name=a_word("read", "write", "use", "alter", "Table.loadTable", "GRANT", "ADMIN"))
_PAGE = record(token=TEXT, limit={"type": "integer"})
_QUESTION = record(subject=_ENTITY, action=_ACTION, resource=_ENTITY, context={"type": "object"})
_ACCESS = besides(
    record(),
    requested_for=TEXT,
    requested_until=TEXT,
    starts_at=TEXT,
    time_zone=TEXT,
    emergency={"type": "boolean"},
)
AUTHZEN: Mapping[str, Schema] = {
    "evaluation": _QUESTION,
    "evaluations": besides(
        record(**_QUESTION["properties"], evaluations=listed(_QUESTION)),
        options=record(
            evaluations_semantic=a_word("execute_all", "deny_on_first_deny", "permit_on_first_permit")
        ),
    ),
    **{f"search/{what}": besides(_QUESTION, page=_PAGE) for what in ("subject", "resource", "action")},
    "requests": besides(
        _QUESTION,
        items=listed(_QUESTION),
        reason=TEXT,
        ticket=TEXT,
        requested_access=_ACCESS,
        subject=_ENTITY,
    ),
    "requests/1": {},
    "requests/1/cancel": record(reason=TEXT),
}

# what Trino's plug-in for Open Policy Agent sends

_TABLE = record(
    catalogName=TEXT, schemaName=TEXT, tableName=TEXT, columns=TEXTS, properties={"type": "object"}
)
_RESOURCE = record(
    user=record(user=TEXT),
    catalog=record(name=TEXT),
    schema=record(catalogName=TEXT, schemaName=TEXT),
    table=_TABLE,
    function=record(functionName=TEXT, catalogSchema=record(catalogName=TEXT, schemaName=TEXT)),
    catalogSessionProperty=record(catalogName=TEXT, propertyName=TEXT),
    column=record(columnName=TEXT),
)


def trino(operations: list[str]) -> Schema:
    action = record(
        operation=a_word(*operations),
        resource=_RESOURCE,
        targetResource=_RESOURCE,
        filterResources=listed(_RESOURCE),
    )
    context = record(identity=record(user=TEXT, groups=TEXTS), softwareStack=record(trinoVersion=TEXT))
    return record(input=record(action=action, context=context))


# CDAP's requests, in the forms of all its releases

_PARTS = (
    "namespace",
    "dataset",
    "application",
    "program",
    "artifact",
    "version",
    "stream",
    "principal",
    "type",
)
_CDAP_ENTITY = record(
    entity=a_word("NAMESPACE", "DATASET", "APPLICATION", "PROGRAM", "ARTIFACT", "INSTANCE"),
    **dict.fromkeys(_PARTS, TEXT),
)
_HOLDER = record(name=TEXT, type=a_word("USER", "GROUP", "ROLE"))
_ACTIONS = listed(a_word("READ", "WRITE", "EXECUTE", "ADMIN", "ALL"))
_PERMISSIONS = listed(record(type=a_word("STANDARD", "APPLICATION"), name=a_word("GET", "UPDATE", "EXECUTE")))
CDAP: Mapping[str, Schema] = {
    "privileges": record(
        authorizable=record(
            entityType=a_word("NAMESPACE", "DATASET"),
            entityParts={"type": "object", "additionalProperties": TEXT},
        ),
        entity=_CDAP_ENTITY,
        principal=_HOLDER,
        actions=_ACTIONS,
        permissions=_PERMISSIONS,
    ),
    "enforce": record(principal=_HOLDER, entityId=_CDAP_ENTITY, actions=_ACTIONS, action=a_word("READ")),
    "isVisible": record(principal=_HOLDER, entityIds=listed(_CDAP_ENTITY)),
    "entity": record(
        description=TEXT,
        config={"type": "object"},
        principal=TEXT,
        typeName=TEXT,
        className=TEXT,
        data=TEXT,
        ttl={"type": "integer"},
        format=record(name=TEXT),
        artifact=record(name=TEXT, version=TEXT, scope=TEXT),
        properties={"type": "object", "additionalProperties": TEXT},
    ),
}
