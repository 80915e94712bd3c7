"""What is hidden and what is absent read alike: every call that takes a name, asked with one of each."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from accounts import tokens
from accounts.people import ensure
from authzsite.api.gravitino.call_table import every
from tests.kept import kept
from tests.realms.world import several_realms

site = kept(several_realms)

HIDDEN = {
    "metalake": "zebra_lake",
    "catalog": "zebra_catalog",
    "schema": "zebra_schema",
    "table": "zebra_table",
    "role": "zebra_role",
    "user": "zebra_clerk",
    "group": "zebra_team",
    "service": "zebra_service",
}
ABSENT = {name: value.replace("zebra", "quagg") for name, value in HIDDEN.items()}
CALLERS = ("user:olivia", "user:ana", "user:erik", "user:dora", "user:hank", "service:nightly-load")
FIELDS = {"full_name": "catalog", "type": "", "name": "table"}


def caller(name: str) -> Client:
    kind, _, who = name.partition(":")
    return Client(headers={"Authorization": f"Bearer {tokens.create(ensure(kind, who))}"})


def seen(answer: Any) -> tuple[int, str, list[tuple[str, str]]]:
    """The status, the text but for the names, and the headers."""
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = content.decode().replace("zebra", "NAME").replace("quagg", "NAME")
    apart = ("Content-Length", "ETag")
    headers = {name: value for name, value in answer.headers.items() if name not in apart}
    text_ = re.sub(
        r'"(id":\d+|(revision|expires|issued|salt|expires|asked_at|lapses_at|digest|opened|until|at)":[^,}]+)',
        "",
        text,
    )
    return answer.status_code, text_, sorted(headers.items())


def both(client: Client, method: str, address: str, body: Any = None) -> list[tuple[Any, ...]]:
    def fill(value: str, names: dict[str, str]) -> str:
        return re.sub(r"<(\w+)>", lambda match: names[match[1]], value)

    pairs = []
    for names in (HIDDEN, ABSENT):
        content = fill(json.dumps(body), names) if body is not None else ""
        answer = client.generic(method, fill(address, names), content, content_type="application/json")
        pairs.append(seen(answer))
    return pairs


PLACE = "<metalake>/<catalog>.<schema>.<table>"
ASKED: dict[str, tuple[str, str, Any]] = {
    "review of an object": ("POST", "/authz/v1/reviews", {"title": "t", "resources": [f"table:{PLACE}"]}),
    "review of a catalog": (
        "POST",
        "/authz/v1/reviews",
        {"title": "t", "resources": ["<metalake>/<catalog>"]},
    ),
    "review of a realm": ("POST", "/authz/v1/reviews", {"title": "t", "resources": ["<metalake>"]}),
    "review of a role": ("POST", "/authz/v1/reviews", {"title": "t", "roles": ["<metalake>/<role>"]}),
    "review of a person": ("POST", "/authz/v1/reviews", {"title": "t", "people": ["user:<user>"]}),
    "review of a group": ("POST", "/authz/v1/reviews", {"title": "t", "people": ["group:<group>"]}),
    "review by a person": (
        "POST",
        "/authz/v1/reviews",
        {"title": "t", "resources": ["demo/shop"], "stages": [{"by": "people", "people": ["user:<user>"]}]},
    ),
    "review with a fallback": (
        "POST",
        "/authz/v1/reviews",
        {"title": "t", "resources": ["demo/shop"], "fallback": "user:<user>"},
    ),
    "deputy": (
        "POST",
        "/authz/v1/substitutes",
        {"deputy": "user:<user>", "starts": "2030-01-01T00:00:00Z", "ends": "2030-02-01T00:00:00Z"},
    ),
    "emergency": (
        "POST",
        "/authz/v1/emergencies",
        {"resource": {"type": "table", "id": PLACE}, "action": "read", "reason": "a reason that is long"},
    ),
    "request": (
        "POST",
        "/authz/v1/requests",
        {"resource": {"type": "table", "id": PLACE}, "action": {"name": "read"}, "reason": "a good reason"},
    ),
    "request foreseen": (
        "POST",
        "/authz/v1/requests/foreseen",
        {"resource": {"type": "table", "id": PLACE}, "action": {"name": "read"}},
    ),
    "request for another": (
        "POST",
        "/authz/v1/requests",
        {
            "subject": {"type": "user", "id": "<user>"},
            "resource": {"type": "table", "id": "demo/shop.sales.orders"},
            "action": {"name": "read"},
            "reason": "a good reason",
        },
    ),
    "requests on an object": ("GET", f"/authz/v1/requests?list=object&resource={PLACE}", None),
    "rules of requests": ("GET", f"/authz/v1/request-rules?resource={PLACE}", None),
    "approval with a role": ("POST", "/authz/v1/requests/1/approve", {"role": "<metalake>/<role>"}),
    "run": ("POST", "/authz/v1/runs", {"realm": "<metalake>", "program": "<catalog>.<schema>"}),
    "uses": ("POST", "/authz/v1/uses", {"realm": "<metalake>", "run": "r", "uses": []}),
    "resolve": ("POST", "/authz/v1/resolve", {"realm": "<metalake>", "names": ["<catalog>"]}),
    "resolve here": ("POST", "/authz/v1/resolve", {"realm": "demo", "names": ["<catalog>"]}),
    "snapshot": ("GET", "/authz/v1/snapshot?realm=<metalake>", None),
    "snapshot of another": ("GET", "/authz/v1/snapshot?realm=demo&for=user:<user>", None),
    "snapshot elsewhere": ("GET", "/authz/v1/snapshot?realm=<metalake>&for=user:<user>", None),
    "access to it": ("GET", f"/authz/v1/access?resource={PLACE}", None),
    "access of them": ("GET", "/authz/v1/access?realm=demo&principal=user:<user>", None),
    "access elsewhere": ("GET", "/authz/v1/access?realm=<metalake>&principal=user:<user>", None),
    "why": ("GET", f"/authz/v1/explain?action=read&resource={PLACE}", None),
    "why of another": ("GET", f"/authz/v1/explain?action=read&principal=user:<user>&resource={PLACE}", None),
    "history": ("GET", "/authz/v1/audit?realm=<metalake>", None),
    "history of it": ("GET", f"/authz/v1/audit?realm=demo&resource={PLACE}", None),
    "history by them": ("GET", "/authz/v1/audit?realm=demo&actor=user:<user>", None),
    "splits": ("GET", "/authz/v1/splits?realm=<metalake>&view=grants", None),
    "readings": ("POST", "/authz/v1/readings", {"realm": "<metalake>", "view": "grants", "revision": 1}),
    **{
        f"what if, of a {kind}": (
            "POST",
            "/authz/v1/simulate",
            {
                "realm": "demo",
                "changes": [],
                "questions": [
                    {
                        "subject": {"type": kind, "id": f"<{kind}>"},
                        "action": {"name": "read"},
                        "resource": {"type": "table", "id": "demo/shop.sales.orders"},
                    }
                ],
            },
        )
        for kind in ("user", "group", "service")
    },
    "what if they held a role": (
        "POST",
        "/authz/v1/simulate",
        {
            "realm": "demo",
            "changes": [{"do": "assign", "role": "browse", "to": ["user:<user>"]}],
        },
    ),
    "question": (
        "POST",
        "/access/v1/evaluation",
        {
            "subject": {"type": "user", "id": "<user>"},
            "action": {"name": "read"},
            "resource": {"type": "table", "id": "demo/shop.sales.orders"},
        },
    ),
}


@pytest.mark.parametrize("name", CALLERS)
def test_what_takes_a_name_tells_nothing_by_it(site: dict[str, int], name: str) -> None:
    client = caller(name)
    answers = {}
    for way, (method, address, body) in ASKED.items():
        hidden, absent = both(client, method, address, body)
        if hidden != absent:
            answers[way] = hidden[:2], absent[:2]
    assert list(answers) == [], answers


def addresses() -> list[tuple[str, str]]:
    """Every call of Gravitino's with a name of the other metalake in each place for one."""
    pairs = []
    for route in every():
        path = route.path
        for field in re.findall(r"{(\w+)}", path):
            words = {"full_name": "<catalog>", "type": "catalog"}
            known = f"<{field}>" if field in HIDDEN else words.get(field, "<table>")
            path = path.replace("{" + field + "}", known)
        pairs.append((route.method, f"/api/{path}"))
    return pairs


@pytest.mark.parametrize("name", ["user:olivia", "user:erik", "service:nightly-load"])
@pytest.mark.parametrize("realm", ["<metalake>", "demo"])
def test_gravitino_tells_nothing_by_it(site: dict[str, int], name: str, realm: str) -> None:
    client, answers = caller(name), {}
    for method, address in addresses():
        address = address.replace("<metalake>", realm)
        if "<" not in address:
            continue
        hidden, absent = both(client, method, address, {} if method in ("POST", "PUT", "PATCH") else None)
        if hidden != absent:
            answers[f"{method} {address}"] = hidden[:2], absent[:2]
    assert answers == {}
