"""`GET /authz/v1/openapi.json`: the calls below `/authz/v1/`, as programs read about them."""

from __future__ import annotations

import re
from functools import cache

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

from accounts.models.tokens import SCOPES
from authzsite.api.surface import respond
from authzsite.api.v1.call import Call
from authzsite.api.v1.calls_told import (
    FLAG,
    MOMENT,
    PAGED,
    PRINCIPAL,
    TEXT,
    WHOLE,
    Schema,
    Told,
    answer,
    either,
    listed,
    page,
    record,
    ref,
)
from lakewarden.client.snapshot import SCHEMA, SCHEMA_OFF

SCHEMAS: dict[str, Schema] = {
    "Problem": record(("title", "status", "detail"), title=TEXT, status=WHOLE, detail=TEXT),
    "Reference": record(("type", "id"), type=TEXT, id={**TEXT, "examples": ["demo/shop.sales.orders"]}),
    "Rule": record(
        ("privilege", "allow", "object", "via"),
        privilege=TEXT,
        allow=FLAG,
        object=ref("Reference"),
        via=listed(record(("kind", "name"), kind=TEXT, name=TEXT)),
        valid_from=either(MOMENT, {"type": "null"}),
        valid_until=either(MOMENT, {"type": "null"}),
        since_revision=WHOLE,
        direct=FLAG,
    ),
    "Lack": record(("kind",), kind=TEXT, privilege=TEXT, object=ref("Reference"), owner=PRINCIPAL),
    "Decision": record(
        ("principal", "action", "resource", "decision", "tree", "revision"),
        principal=PRINCIPAL,
        action=TEXT,
        resource=ref("Reference"),
        decision=FLAG,
        operation=either(TEXT, {"type": "null"}),
        reason=TEXT,
        tree={"type": "object"},
        because=listed(ref("Rule")),
        missing=listed(ref("Lack")),
        alternatives=listed(listed(ref("Lack"))),
        reason_user=TEXT,
        request_url=TEXT,
        revision=WHOLE,
    ),
    "Access": either(
        record(
            ("principal", "actions", "owner", "paths"),
            principal=PRINCIPAL,
            actions=listed(TEXT),
            owner=FLAG,
            paths=listed(ref("Rule")),
        ),
        record(
            ("resource", "actions", "paths"),
            resource=ref("Reference"),
            actions=listed(TEXT),
            paths=listed(ref("Rule")),
        ),
    ),
    "Entry": record(("id", "kind", "at", "actor"), id=TEXT, kind=TEXT, at=MOMENT, actor=TEXT, text=TEXT),
    "Snapshot": record(
        ("schema", "realm", "principal", "dialect", "revision", "issued", "expires", "facts", "digest"),
        schema={**WHOLE, "description": f"{SCHEMA}, or {SCHEMA_OFF} where something is switched off"},
        realm=TEXT,
        principal=PRINCIPAL,
        dialect=TEXT,
        revision=WHOLE,
        issued=MOMENT,
        expires=MOMENT,
        next_change_at=either(MOMENT, {"type": "null"}),
        mode=TEXT,
        member=FLAG,
        service_admin=FLAG,
        names={**listed(either(listed(TEXT), TEXT)), "description": "type and id, or a digest of them"},
        facts={
            **listed({"type": "array"}),
            "description": "on which name, privilege, allow, by which way, since, which fact, from, until",
        },
        stations=listed(listed(TEXT)),
        ways=listed(listed(WHOLE)),
        selves=listed(WHOLE),
        apart=listed({"type": "array"}),
        off={**listed(WHOLE), "description": "the names of what is switched off, in schema 2"},
        locations={"type": "object", "additionalProperties": WHOLE},
        hidden=listed(TEXT),
        spellings={
            **listed({"type": "array"}),
            "description": "a hidden name in any case, as a digest, and its number",
        },
        salt=TEXT,
        digest={**TEXT, "description": "SHA-256 over the rest, as JSON with sorted names and no spaces"},
    ),
    "Resolved": {"type": "object", "additionalProperties": either(ref("Reference"), {"const": "unknown"})},
    "Use": record(
        ("resource", "action"),
        principal=PRINCIPAL,
        resource=either(ref("Reference"), TEXT),
        action=TEXT,
        executed=FLAG,
        at=MOMENT,
    ),
    "Splits": record(
        ("view", "realm", "revision", "at", "splits"),
        view=TEXT,
        realm=TEXT,
        revision=WHOLE,
        at=MOMENT,
        splits=listed(record(("after", "upto"), after=TEXT, upto=TEXT)),
    ),
    "Row": {"type": "object", "description": "one row of the view; docs/spark.md lists its columns"},
    "Reading": record(("token", "expires"), token=TEXT, expires=MOMENT),
    "Run": record(("run", "runs_as", "token", "expires"), run=TEXT, runs_as=TEXT, token=TEXT, expires=MOMENT),
}

PART = ("after", "upto", "revision")
GONE = {410: "the revision is not kept any more: ask for splits again"}
CALLS = (
    Told(
        "snapshot", "get", "One principal's facts in one realm", "check", ref("Snapshot"), ("realm!", "for"),
        others={304: "still the one of If-None-Match"},
    ),
    Told(
        "resolve", "post", "What object each name or location is", "check",
        record(("names", "locations"), names=ref("Resolved"), locations=ref("Resolved")),
        body=record(("realm",), realm=TEXT, names=listed(TEXT), locations=listed(TEXT)),
    ),
    Told(
        "uses", "post", "What a run really used; told twice it is one use", "report",
        record(("run", "received"), run=TEXT, received=WHOLE),
        body=record(("realm", "run", "uses"), realm=TEXT, run=TEXT, uses=listed(ref("Use"))), status=202,
    ),
    Told(
        "access", "get", "Everybody with access to an object, or all that somebody reaches", "check",
        either(page(ref("Access")), page(ref("Row"))),
        ("resource", "type", "principal", "realm", "as_of", *PART, "at", *PAGED), others=GONE,
    ),
    *(
        Told(
            view, "get", f"A part of all {view} of a realm, as splits cut it", "check", page(ref("Row")),
            ("realm!", *(f"{one}!" for one in PART), "at", "limit"), others=GONE,
        )
        for view in ("grants", "objects", "uses")
    ),
    Told(
        "splits", "get", "A revision, and where to cut a view of it into parts", "check; of audit `audit`",
        ref("Splits"), ("view!", "realm!", "n", "as_of"), others=GONE,
    ),
    Told(
        "readings", "post", "A token that reads one view at one revision and nothing else",
        "check; of audit `audit`", ref("Reading"),
        body=record(("view", "realm", "revision"), view=TEXT, realm=TEXT, revision=WHOLE, ttl=WHOLE),
        status=201, others=GONE,
    ),
    Told(
        "explain", "get", "A decision as a tree: what holds, what is lacking", "check", ref("Decision"),
        ("action!", "resource!", "type", "principal"),
    ),
    Told(
        "audit", "get", "The record of a realm, in order", "audit",
        either(page(ref("Entry")), page(ref("Row"))),
        ("realm!", "since", "kind", "actor", "resource", "type", "format", *PART, "at", *PAGED), others=GONE,
    ),
    Told(
        "runs", "post", "Start a job; it gets a token that is decided as the account it runs as", "request",
        ref("Run"), body=record(("realm", "program"), realm=TEXT, program=TEXT, ttl=WHOLE), status=201,
        others={409: "nobody stands behind the job"},
    ),
    Told(
        "backends/{id}/changed", "post", "Something was changed in a backend: look now", "report",
        record(("backend", "state"), backend=WHOLE, state=TEXT),
        body=record(objects=listed(TEXT)), status=202,
    ),
)  # fmt: skip


@cache
def document() -> Schema:
    """The whole description, OpenAPI 3.1."""
    from authzsite.api.v1 import urls

    found = SchemaGenerator(  # type: ignore[no-untyped-call]
        patterns=[
            p
            for p in urls.urlpatterns
            if re.search("emergencies|request|substitutes|reviews", str(p.pattern))
        ]
    ).get_schema(public=True)
    paths: Schema = found["paths"]
    for call in CALLS:
        paths.setdefault(f"/authz/v1/{call.path}", {})[call.method] = call.wire()
    problem = answer("why not, as RFC 9457 writes it", "application/problem+json", ref("Problem"))
    found["components"]["schemas"] |= SCHEMAS
    found["components"]["responses"] = {"Problem": problem}
    return {**found, "info": {**found["info"], "description": f"Scopes of a token: {', '.join(SCOPES)}."}}


class OpenApi(Call):
    """It says nothing about anybody, so it needs no sign-in."""

    authentication_classes = []
    permission_classes = []
    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        return respond(document())
