"""How calls are described: the words that `openapi.py` and its parts are written in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
PRINCIPAL: Schema = {"type": "string", "examples": ["user:ana", "group:analysts", "service:etl"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(needed: Sequence[str] = (), **properties: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(needed)} if needed else found


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def page(items: Schema) -> Schema:
    return record(("results", "next"), results=listed(items), next=either(TEXT, {"type": "null"}))


PLACES: dict[str, Schema] = {
    "realm": TEXT,
    "for": PRINCIPAL,
    "principal": PRINCIPAL,
    "action": TEXT,
    "resource": {**TEXT, "examples": ["table:demo/shop.sales.orders", "demo/shop.sales.orders"]},
    "type": TEXT,
    "as_of": {"description": "a revision; for splits also a time", **either(WHOLE, MOMENT)},
    "view": {**TEXT, "enum": ["access", "grants", "audit", "uses", "objects"]},
    "n": {"type": "integer", "minimum": 1, "maximum": 256, "default": 1},
    "after": TEXT,
    "upto": TEXT,
    "revision": WHOLE,
    "at": MOMENT,
    "since": MOMENT,
    "kind": TEXT,
    "list": {**TEXT, "enum": ["mine", "waiting", "decided", "object"], "default": "mine"},
    "actor": TEXT,
    "format": {**TEXT, "enum": ["json", "jsonl", "csv", "ocsf"]},
    "order": {**TEXT, "enum": ["risk", "person", "object"], "default": "risk"},
    "only": TEXT,
    "all": FLAG,
    "text": TEXT,
    "cursor": TEXT,
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
}
PROBLEMS = ("400", "401", "403")
PAGED = ("cursor", "limit")


@dataclass(frozen=True)
class Told:
    """One call: its parameters (`!` marks those that must be there), its body and its answer."""

    path: str
    method: str
    summary: str
    scope: str
    answer: Schema
    asked: tuple[str, ...] = ()
    body: Schema | None = None
    status: int = 200
    others: Mapping[int, str] = field(default_factory=dict)

    def wire(self) -> Schema:
        answers = {str(self.status): answer("the answer", "application/json", self.answer)}
        answers |= {str(code): {"description": text} for code, text in self.others.items()}
        found: Schema = {
            "summary": self.summary,
            "operationId": f"{self.method}-{self.path}",
            "description": f"A token with scopes needs `{self.scope}`.",
            "parameters": [*_in_path(self.path), *(_parameter(name) for name in self.asked)],
            "responses": answers | {code: {"$ref": "#/components/responses/Problem"} for code in PROBLEMS},
        }
        if self.body is not None:
            content = {"application/json": {"schema": self.body}}
            found["requestBody"] = {"required": True, "content": content}
        return found


def answer(description: str, kind: str, schema: Schema) -> Schema:
    """One answer of a call, in the form of a content type."""
    return {"description": description, "content": {kind: {"schema": schema}}}


def _in_path(path: str) -> list[Schema]:
    named = re.findall(r"{(\w+)}", path)
    return [{"name": name, "in": "path", "required": True, "schema": WHOLE} for name in named]


def _parameter(name: str) -> Schema:
    plain = name.rstrip("!")
    return {"name": plain, "in": "query", "required": name.endswith("!"), "schema": PLACES[plain]}
