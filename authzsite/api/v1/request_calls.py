"""The calls about requests for access, as programs read about them."""

from __future__ import annotations

from typing import Any

from authzsite.api.v1.calls_told import (
    MOMENT,
    NULL,
    PAGED,
    PRINCIPAL,
    TEXT,
    WHOLE,
    Schema,
    Told,
    either,
    listed,
    page,
    record,
    ref,
)

MAYBE_TEXT, MAYBE_MOMENT, MAYBE_WHOLE = (either(one, NULL) for one in (TEXT, MOMENT, WHOLE))
ACTION = record(("name",), name=TEXT)
WANTED = record(("resource", "action"), resource=ref("Reference"), action=ACTION)
LASTING: Schema = {**TEXT, "examples": ["P30D", "PT8H"]}
SAYING: dict[str, Any] = dict.fromkeys(
    ("min_reason", "escalate_hours", "lapse_hours", "longest_days"), MAYBE_WHOLE
)
RULES = record(ticket=MAYBE_TEXT, **SAYING)
PARTS = listed(WHOLE)
SHORTER: dict[str, Any] = {"for": LASTING}

SCHEMAS: dict[str, Schema] = {
    "Asking": record(
        (),
        subject=ref("Reference"),
        resource=ref("Reference"),
        action=ACTION,
        items=listed(WANTED),
        reason=TEXT,
        context=record(business_justification=TEXT),
        ticket=TEXT,
        requested_access=record(
            requested_for=LASTING, requested_until=MOMENT, starts_at=MOMENT, time_zone=TEXT
        ),
    ),
    "RequestLine": record(
        ("id", "status", "asker", "subject", "items"),
        id=WHOLE,
        status={
            **TEXT,
            "enum": [
                "asked", "asked_back", "approved", "approved_less", "refused", "withdrawn", "lapsed",
            ],
        },
        asker=PRINCIPAL,
        subject=ref("Reference"),
        reason=TEXT,
        ticket=TEXT,
        requested_for=TEXT,
        requested_until=MAYBE_MOMENT,
        starts_at=MAYBE_MOMENT,
        time_zone=TEXT,
        asked_at=MOMENT,
        lapses_at=MOMENT,
        items=listed(
            record(
                ("resource", "action"),
                resource=ref("Reference"),
                action=ACTION,
                given_at=MAYBE_MOMENT,
                valid_until=MAYBE_MOMENT,
            )
        ),
    ),
    "RequestPart": record(
        ("number", "kind", "object", "privileges", "status"),
        number=WHOLE,
        kind={**TEXT, "enum": ["privilege", "membership", "role"]},
        object=ref("Reference"),
        privileges=listed(TEXT),
        status=TEXT,
        given=listed(TEXT),
        note=TEXT,
        decided_by=either(PRINCIPAL, NULL),
        decided_for=either(PRINCIPAL, NULL),
        decided_at=MAYBE_MOMENT,
        deciders=either(listed(PRINCIPAL), NULL),
    ),
    "Request": {
        "allOf": [
            ref("RequestLine"),
            record(
                ("parts", "steps"),
                parts=listed(ref("RequestPart")),
                deliveries=listed(
                    record(("backend", "status"), backend=TEXT, status=TEXT, text=TEXT, since=MOMENT)
                ),
                steps=listed(
                    record(
                        ("move", "at"), move=TEXT, at=MOMENT, by=either(PRINCIPAL, NULL),
                        part=MAYBE_WHOLE, text=TEXT, revision=WHOLE,
                    )
                ),
                may_decide=PARTS,
            ),
        ]
    },
    "Denial": record(("privilege", "object"), privilege=TEXT, object=ref("Reference"), role=TEXT),
    "RequestRules": record(("here", "counts"), here=RULES, counts=RULES),
    "Substitute": record(
        ("id", "person", "deputy", "starts", "ends"),
        id=WHOLE, person=PRINCIPAL, deputy=PRINCIPAL, starts=MOMENT, ends=MOMENT,
    ),
}  # fmt: skip

TOO_LATE = {409: "somebody was faster, or it has lapsed"}
GONE = {404: "no such request, or it is not for you to see"}
_DEEDS = (
    ("approve", "Say yes to parts", "manage", record(
        parts=PARTS, give={"type": "object", "additionalProperties": listed(TEXT)}, until=MOMENT,
        role=TEXT, note=TEXT, **SHORTER,
    )),
    ("refuse", "Say no to parts, and why", "manage", record(("reason",), reason=TEXT, parts=PARTS)),
    ("ask_back", "Ask whoever asked", "manage", record(("question",), question=TEXT, parts=PARTS)),
    ("answer", "Answer what was asked back", "request", record(("text",), text=TEXT)),
    ("withdraw", "Take a request back", "request", record(reason=TEXT)),
)  # fmt: skip

CALLS = (
    Told(
        "requests", "post", "Ask for access; `Idempotency-Key` makes it one", "request", ref("Request"),
        body=ref("Asking"), status=201, others={409: "asked before, or the key stands for another request"},
    ),
    Told(
        "requests", "get", "Requests: `mine`, `waiting` for the caller, `decided` by them, about an `object`",
        "request, manage or audit", page(ref("RequestLine")), ("list", "resource", "type", *PAGED),
    ),
    Told(
        "requests/foreseen", "post", "What a request would come to", "request",
        record(
            ("parts",),
            parts=listed(
                record(
                    ("kind", "object", "privileges"),
                    kind=TEXT, object=ref("Reference"), privileges=listed(TEXT),
                )
            ),
            denials=listed(ref("Denial")), valid_until=MAYBE_MOMENT, lapses_at=MOMENT,
            min_reason=WHOLE, ticket=TEXT, longest_days=WHOLE,
        ),
        body=ref("Asking"),
    ),
    Told(
        "requests/{id}", "get", "One request, with its decisions and how far it has come",
        "request, manage or audit", ref("Request"), others=GONE,
    ),
    Told(
        "requests/{id}/consideration", "get", "What a decider wants to know", "request, manage or audit",
        record(
            present=listed(record(resource=ref("Reference"), actions=listed(TEXT))),
            earlier=listed(ref("RequestLine")),
            effects=listed(
                record(object=ref("Reference"), principal=PRINCIPAL, effect=TEXT, gains=listed(TEXT))
            ),
            peers=listed(record(part=WHOLE, have=WHOLE, of=WHOLE)),
            roles=listed(record(role=TEXT, holders=WHOLE)),
            denials=listed(ref("Denial")), conflicts=listed(TEXT), valid_until=MAYBE_MOMENT,
        ),
        others=GONE,
    ),
    *(
        Told(
            f"requests/{{id}}/{deed}", "post", told, scope, ref("Request"), body=body,
            others=TOO_LATE | GONE,
        )
        for deed, told, scope, body in _DEEDS
    ),
    Told(
        "request-rules", "get", "What requests for an object must say", "none", ref("RequestRules"),
        ("resource!", "type"),
    ),
    Told(
        "request-rules", "put", "Say what requests for an object and all below must say", "manage",
        ref("RequestRules"), ("resource!", "type"), body=RULES,
    ),
    Told(
        "substitutes", "get", "Who decides for the caller, and for whom the caller does", "none",
        page(ref("Substitute")),
    ),
    Told(
        "substitutes", "post", "Have somebody decide for the caller while they are away", "manage",
        ref("Substitute"), status=201,
        body=record(("deputy", "starts", "ends"), deputy=PRINCIPAL, starts=MOMENT, ends=MOMENT),
    ),
    Told(
        "substitutes/{id}", "delete", "End a substitution", "manage", NULL, status=204, others=GONE,
    ),
)  # fmt: skip

__all__ = ["CALLS", "SCHEMAS"]
