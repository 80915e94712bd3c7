"""The form of every answer over bare HTTP: codes, types, slashes, credentials, bodies that are wrong."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import pytest

from accounts import people, tokens
from authzsite.api.gravitino import call_table
from authzsite.api.gravitino.routing import segments
from policies.models import AccessRecord
from tests.api_gravitino.world import ADMIN, FORBIDDEN, OK, Lake, Site, basic, beside

MISSING = "NotFoundException"


def test_version_and_configs(site: Site) -> None:
    assert site.send("GET", "/api/version").body == {
        "code": 0,
        "version": {"version": "1.3.1", "compileDate": "", "gitCommit": ""},
    }
    response = site.send("GET", "/configs", who=None)
    assert response.status == 200
    assert response.body["gravitino.schema.separator"] == ":"
    assert "gravitino.authorization.serviceAdmins" not in response.body
    assert site.send("GET", "/configs").body["gravitino.authorization.serviceAdmins"] == ADMIN
    me = {"code": 0, "principal": ADMIN, "serviceAdmin": True}
    assert site.send("GET", "/api/authn/me").body == me


@pytest.mark.parametrize(
    "header",
    [None, "Bearer ", "Bearer nonsense", "Basic !!!", "Basic ", "Digest x", "Basic " + "OmE="],
)
def test_without_good_credentials_nothing_is_said(site: Site, header: str | None) -> None:
    sent = {} if header is None else {"Authorization": header}
    reply = site.send("GET", "/api/metalakes", who=None, **sent)
    assert reply.told == (401, 1011, "UnauthorizedException")
    assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_tokens_come_as_bearer_or_with_their_name(lake: Lake) -> None:
    token = beside(lambda: tokens.create(people.ensure("user", ADMIN)))
    check = beside(lambda: tokens.create(people.ensure("user", ADMIN), scopes=("check",)))
    for header in (f"Bearer {token}", basic(ADMIN, token), f"Bearer {check}"):
        assert lake.send("GET", "", who=None, Authorization=header).told == OK
    refused = lake.send("POST", "/tags", {"name": "t"}, who=None, Authorization=f"Bearer {check}")
    assert refused.told == FORBIDDEN
    assert beside(lambda: AccessRecord.objects.latest("pk").operation) == "Tag.createTag"


@pytest.mark.seed("S4-013", "S4-152")
def test_authenticators_say_who_may_come_without_proof(site: Site, settings: Any) -> None:
    settings.LAKEWARDEN_AUTHENTICATORS = {"token", "simple", "anonymous"}
    assert site.send("GET", "/api/authn/me", who=None).body["principal"] == "anonymous"
    assert site.send("GET", "/api/authn/me", who=None, Authorization="Bearer x").status == 401
    settings.LAKEWARDEN_AUTHENTICATORS = {"token"}
    assert site.send("GET", "/api/authn/me").status == 401
    assert site.send("GET", "/api/authn/me", who=None).status == 401


@pytest.mark.seed("S4-013")
@pytest.mark.parametrize("path", ["", "/users", "/roles", "/catalogs", "/owners/metalake/{lake}"])
def test_authorization_takes_callers_that_are_known(lake: Lake, settings: Any, path: str) -> None:
    """Who says nothing is nobody; where `anonymous` is on they are the user of that name, with its rights."""
    path = path.format(lake=lake.name)
    assert lake.send("GET", path, who=None).told == (401, 1011, "UnauthorizedException")
    settings.LAKEWARDEN_AUTHENTICATORS = {"token", "simple", "anonymous"}
    assert lake.send("GET", path, who=None).told == FORBIDDEN
    lake.join("anonymous")
    assert lake.send("GET", "", who=None).told == OK
    assert lake.send("POST", "/catalogs", {"name": "c", "type": "relational"}, who=None).told == FORBIDDEN


def test_an_escaped_slash_stays_in_its_name() -> None:
    assert segments("/api/metalakes/m/users/a%2Fb/") == ("metalakes", "m", "users", "a/b")
    assert segments("/api/version") == ("version",)


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/metalakes/a//b", "/api/version/x"])
def test_unknown_paths(site: Site, path: str) -> None:
    assert site.send("GET", path).told == (404, 1003, MISSING)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"])
def test_wrong_methods(site: Site, method: str) -> None:
    reply = site.send(method, "/api/metalakes")
    assert reply.status == 405
    if method != "HEAD":
        assert reply.told == (405, 1006, "UnsupportedOperationException")


def test_what_django_refuses_is_json_too(site: Site, lake: Lake) -> None:
    assert site.send("GET", "/api/version", Host="evil.example").told == (
        400,
        1001,
        "IllegalArgumentException",
    )
    huge = b'{"name": "' + b"x" * (3 << 20) + b'"}'
    assert lake.send("POST", "/tags", huge).told == (413, 1001, "IllegalArgumentException")


def test_saying_goodbye(site: Site) -> None:
    reply = site.send("CLOSE", "/")
    assert (reply.status, reply.body) == (200, None)


def test_a_slash_at_the_end_says_nothing(lake: Lake) -> None:
    assert lake.send("POST", "/users/", {"name": "ana"}).told == OK
    for path in ("/users/", "/groups/", "/roles/", "/"):
        assert lake.send("GET", path).told == OK
    lake.role("r")
    given = lake.send("PUT", "/permissions/users/ana/grant/", {"roleNames": ["r"]})
    assert given.body["user"]["roles"] == ["r"]


def test_case_of_enums_and_truths(lake: Lake) -> None:
    lake.make("/catalogs", {"name": "c", "type": "RELATIONAL", "provider": "HIVE"})
    lake.make("/catalogs/c/schemas", {"name": "s"})
    lake.make(
        "/roles",
        {
            "name": "r",
            "properties": None,
            "securableObjects": [
                {
                    "type": "SCHEMA",
                    "fullName": "c.s",
                    "privileges": [{"name": "USE_SCHEMA", "condition": "ALLOW"}],
                }
            ],
        },
    )
    role = lake.send("GET", "/roles/r").body["role"]
    assert role["securableObjects"] == [
        {
            "type": "schema",
            "fullName": "c.s",
            "privileges": [{"name": "use_schema", "condition": "allow"}],
        }
    ]
    assert lake.send("PUT", "/owners/SCHEMA/c.s", {"name": ADMIN, "type": "USER"}).body["set"] is True
    assert lake.send("GET", "/catalogs?details=True").body["catalogs"][0]["type"] == "relational"
    assert lake.send("DELETE", "/catalogs/c?force=True").body["dropped"] is True


def test_no_percent_sign_in_messages(lake: Lake) -> None:
    message = lake.send("GET", "/catalogs/100%25").body["message"]
    assert "%" not in message and "100" in message


def test_no_owner_is_no_key(lake: Lake) -> None:
    lake.make("/catalogs", {"name": "k", "type": "messaging", "provider": "kafka"})
    assert lake.send("GET", "/owners/schema/k.default").body == {"code": 0}


# bodies


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "a", "name": "b", "comment": ""}',
        b'{"name": "a", "properties": {"k": "1", "k": "2"}}',
        b"",
        b"   ",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b"{}",
        b'{"name": null}',
        b'{"name": ""}',
        b'{"name": "  "}',
        b'{"name": 5}',
        b'{"name": ["x"]}',
        b'{"name": "x", "colour": "red"}',
        b'{"name": "a\\u0000b"}',
        b'{"name": "\\ud800"}',
        b'{"name": "100%"}',
        b'{"name": "a.b"}',
        b'{"name": "x", "properties": []}',
        b'{"name": "x", "properties": {"a": {}}}',
        b'{"name": "x", "properties": {"a": NaN}}',
        b'{"name": "x", "comment": 1e999}',
        b"\xff\xfe",
        b'{"name":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_a_body_that_is_wrong(lake: Lake, body: bytes) -> None:
    assert lake.send("POST", "/tags", body).told == (400, 1001, "IllegalArgumentException")
    assert lake.send("GET", "/tags").body["names"] == []


def test_an_unknown_field_is_named(lake: Lake) -> None:
    message = lake.send("POST", "/users", {"name": "x", "colour": 1}).body["message"]
    assert message.startswith("Malformed json request") and "colour" in message


def _noise(rng: random.Random, depth: int = 0) -> Any:
    words = ["", "x", "@type", "name", "rename", "%", "\0", "é", "a" * 300, "__proto__", "select_table"]
    choices: list[Any] = [None, True, 0, -1, 10**40, 1.5, rng.choice(words)]
    if depth < 3:
        keys = ["name", "updates", "type", "@type", "columns", "privileges", "roleNames", rng.choice(words)]
        choices += [
            [_noise(rng, depth + 1) for _ in range(rng.randrange(3))],
            {rng.choice(keys): _noise(rng, depth + 1) for _ in range(rng.randrange(4))},
        ]
    return rng.choice(choices)


def _path(rng: random.Random, template: str, lake: str) -> str:
    names = ["c", "s", "t", "r", "table", "column", "c.s.t", "%00", "%C3%A9", "a%2Fb", "..", "0", "x" * 300]
    parts = [rng.choice(names) if part.startswith("{") else part for part in template.split("/")]
    return "/api/" + "/".join(lake if was == "{metalake}" else part for was, part in _zip(template, parts))


def _zip(template: str, parts: list[str]) -> list[tuple[str, str]]:
    return list(zip(template.split("/"), parts, strict=True))


def test_no_body_and_no_path_breaks_a_call(lake: Lake) -> None:
    """Every call there is, with noise in its body, its path and its query, is answered and never with 500."""
    rng = random.Random(4)
    lake.make("/catalogs", {"name": "c", "type": "relational", "provider": "hive"})
    lake.make("/catalogs/c/schemas", {"name": "s"})
    lake.make("/catalogs/c/schemas/s/tables", {"name": "t", "columns": [{"name": "a", "type": "integer"}]})
    for route in call_table.every():
        if "bulk" in route.path or route.path == "metalakes":
            continue
        for _ in range(3):
            path = _path(rng, route.path, lake.name) + rng.choice(["", "?details=true", "?force=%FF&x"])
            if route.method == "DELETE" and path.startswith(f"/api/metalakes/{lake.name}?"):
                continue
            reply = lake.site.send(route.method, path, json.dumps(_noise(rng)).encode())
            assert reply.status < 500 and "code" in reply.body, (route, path, reply)


def test_noise_inside_bodies_that_are_nearly_right(lake: Lake) -> None:
    rng = random.Random(5)
    lake.make("/catalogs", {"name": "c", "type": "relational", "provider": "hive"})
    lake.make("/catalogs/c/schemas", {"name": "s"})
    good = {
        "name": "t",
        "columns": [
            {"name": "a", "type": "integer", "defaultValue": {"type": "literal", "dataType": "integer"}}
        ],
        "partitioning": [{"strategy": "identity", "fieldName": ["a"]}],
        "distribution": {"strategy": "hash", "number": 1, "funcArgs": []},
        "sortOrders": [{"sortTerm": {"type": "field", "fieldName": ["a"]}, "direction": "asc"}],
        "indexes": [{"indexType": "primary_key", "fieldNames": [["a"]]}],
        "properties": {"a": "b"},
    }
    for _ in range(60):
        bad = json.loads(json.dumps(good))
        spot: Any = bad
        while isinstance(spot, (dict, list)) and spot:
            key = rng.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
            if rng.random() < 0.4 or not isinstance(spot[key], (dict, list)):
                spot[key] = _noise(rng)
                break
            spot = spot[key]
        bad["name"] = "".join(rng.choices(string.ascii_lowercase, k=8)) if "name" in bad else None
        reply = lake.send("POST", "/catalogs/c/schemas/s/tables", bad)
        assert reply.status in (200, 400), reply.body
        if reply.status == 200:
            assert lake.send("GET", f"/catalogs/c/schemas/s/tables/{bad['name']}").told == OK
