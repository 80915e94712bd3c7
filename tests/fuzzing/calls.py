"""Calls of each surface, made from its schema: every address and method, bodies that fit and that do not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

from authzsite.api.authzen.urls import urlpatterns as authzen_urls
from authzsite.api.gravitino import call_table
from authzsite.api.herd import bodies as herd_bodies
from authzsite.api.herd import data_bodies
from authzsite.api.herd.urls import BASE as HERD
from authzsite.api.scim.resources import Group, User
from authzsite.api.trino.operations import OPERATIONS
from authzsite.api.v1.openapi import document
from tests.fuzzing import schemas
from tests.fuzzing.values import BY_FIELD, Draw, fitting, texts

JSON = "application/json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
CALLERS = ("sam", "marek", "olivia", "ana", "hedda", "service:nightly-load", "")
"""Who runs the site, owns, may a little, looks after a herd; a service; and nobody."""
ENDLESS = frozenset({"/authz/v1/stream"})
"""Answers that go on as long as their caller listens."""
FILTERS = (
    'userName eq "ana"',
    'displayName co "a" and active eq true',
    "not (userName pr)",
    'emails[type eq "work"]',
    'members.value eq "1"',
    'meta.lastModified gt "2026-01-01T00:00:00Z"',
    "userName",
    "((((",
    'a eq "\\ud800"',
)


class Call(NamedTuple):
    """Who sends what where; the path is quoted and has its query."""

    who: str
    method: str
    path: str
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = {}


class World(NamedTuple):
    """The numbers that rows have in the world that is asked about."""

    numbers: Sequence[int]


def written(value: Any) -> bytes:
    """The value as JSON, with half characters where it has any."""
    return json.dumps(value).encode()


@st.composite
def _path(draw: Draw, template: str, world: World) -> str:
    """The template with something in each `{…}` or `<…>` of it."""

    def part(match: re.Match[str]) -> str:
        if match[0].startswith("<int:"):
            return str(draw(st.sampled_from([*world.numbers * 3, 0, 987654321, 10**30])))
        usual = BY_FIELD.get(match[0].strip("<{}>").rpartition(":")[2])
        if usual and draw(st.integers(0, 4)):
            return quote(draw(st.sampled_from(usual)), safe="")
        text = str(draw(texts | st.sampled_from([str(number) for number in world.numbers])))
        return quote(text.encode(errors="surrogatepass"), safe="") or "x"

    return re.sub(r"<[^>]+>|{[^}]+}", part, template)


@st.composite
def _query(draw: Draw, names: Sequence[str]) -> str:
    chosen = {}
    for name in names:
        if draw(st.booleans()):
            usual = name in BY_FIELD and draw(st.integers(0, 3))
            chosen[name] = draw(st.sampled_from(BY_FIELD[name]) if usual else texts)
    pairs = [(name, str(value).encode(errors="surrogatepass")) for name, value in chosen.items()]
    return f"?{urlencode(pairs)}" if pairs else ""


@st.composite
def _sent(draw: Draw, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> bytes:
    """A body of that schema; now and then no JSON at all."""
    if draw(st.integers(0, 20)) == 0:
        return draw(
            st.binary(max_size=30) | st.sampled_from((b"", b"null", b"[" * 5000, b'{"a":1,"a":2}', b"\xff"))
        )
    return written(draw(fitting(schema, whole)))


def _methods(*usual: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*usual * 20, *METHODS])


_callers = st.sampled_from(("sam", "marek", "marek", "olivia", "hedda", "hedda", *CALLERS))


@st.composite
def v1(draw: Draw, world: World) -> Call:
    """`/authz/v1/`, from its OpenAPI description."""
    whole = document()
    path = draw(st.sampled_from(sorted(whole["paths"].keys() - ENDLESS)))
    calls = whole["paths"][path]
    method = draw(st.sampled_from(sorted(calls)))
    call = calls[method]
    place = draw(_path(re.sub(r"{(id|number)}", r"<int:\1>", path), world))
    query = draw(_query([item["name"] for item in call.get("parameters", ()) if item["in"] == "query"]))
    content = call.get("requestBody", {}).get("content", {})
    kind = draw(st.sampled_from(sorted(content))) if content else JSON
    body = draw(_sent(content[kind].get("schema", {}), whole)) if content else b""
    sent_as = draw(_methods(method.upper()))
    return Call(draw(_callers), sent_as, place + query, body, kind)


@st.composite
def authzen(draw: Draw, world: World) -> Call:
    """`/access/v1/`"""
    names = sorted({str(item.pattern) for item in authzen_urls if str(item.pattern).startswith("access/")})
    path = draw(st.sampled_from(names))
    schema = schemas.AUTHZEN.get(path.removeprefix("access/v1/"), schemas.AUTHZEN["requests"])
    method = draw(_methods("POST") if "<" not in path else _methods("GET", "POST"))
    headers = {"Idempotency-Key": draw(texts)} if draw(st.integers(0, 9)) == 0 else {}
    return Call(
        draw(_callers), method, "/" + draw(_path(path, world)), draw(_sent(schema, {})), JSON, _latin(headers)
    )


@st.composite
def gravitino(draw: Draw, world: World) -> Call:
    """`/api/`, from the table of its calls."""
    route = draw(st.sampled_from(list(call_table.every())))
    path = "/api/" + draw(_path(route.path.replace("{metalake}", "demo"), world))
    query = draw(_query(("details", "force", "privileges", "cascade", "sub_path", "listed")))
    body = draw(_sent(schemas.of_reader(route.body), {})) if route.body else b""
    headers = {"X-Gravitino-Active-Roles": draw(texts)} if draw(st.integers(0, 9)) == 0 else {}
    return Call(draw(_callers), draw(_methods(route.method)), path + query, body, JSON, _latin(headers))


@st.composite
def herd(draw: Draw, world: World) -> Call:
    """`/herd-app/rest/`, with bodies as JSON or XML."""
    methods, path, shape = draw(st.sampled_from(HERD_CALLS))
    kind = draw(st.sampled_from((JSON, JSON, herd_bodies.XML)))
    body = b""
    if shape is not None:
        body = draw(_xml(shape) if kind == herd_bodies.XML else _sent(schemas.of_record(shape), {}))
    headers = {"Accept": draw(st.sampled_from((JSON, herd_bodies.XML, "*/*", "*/*", "text/odd")))}
    place = draw(_path(f"/{HERD}/{path}", world))
    return Call(draw(_callers), draw(_methods(*methods.split())), place, body, kind, headers)


@st.composite
def _xml(draw: Draw, shape: Any) -> bytes:
    value = draw(fitting(schemas.of_record(shape), {}))
    try:
        return herd_bodies.write(shape, value, herd_bodies.XML)
    except (AttributeError, TypeError, ValueError, KeyError):
        return draw(st.sampled_from((b"<a/>", b"<a", b"<!DOCTYPE a><a/>", b"", b"<a>&b;</a>", b"\xff\xfe<")))


_FORMAT = (
    "namespaces/{ns}/businessObjectDefinitionNames/{def}/businessObjectFormatUsages/{use}"
    "/businessObjectFormatFileTypes/{type}"
)
_DATA = _FORMAT + "/businessObjectFormatVersions/{v}/partitionValues/{p}/businessObjectDataVersions/{dv}"
_NOTICES = "notificationRegistrations/businessObjectDataNotificationRegistrations"
_ENTRY = "userNamespaceAuthorizations"
_NOTICE = f"{_NOTICES}/namespaces/{{ns}}/notificationNames/{{name}}"
HERD_CALLS: tuple[tuple[str, str, Any], ...] = (
    ("POST", _ENTRY, herd_bodies.CREATE),
    ("GET PUT DELETE", f"{_ENTRY}/userIds/{{userId}}/namespaces/{{ns}}", herd_bodies.UPDATE),
    ("GET", f"{_ENTRY}/userIds/{{userId}}", None),
    ("GET", f"{_ENTRY}/namespaces/{{ns}}", None),
    ("GET", "currentUser", None),
    ("GET POST", "namespaces", herd_bodies.NAMESPACE_CREATE),
    ("POST", "namespaces/search", herd_bodies.SEARCH),
    ("GET PUT DELETE", "namespaces/{ns}", herd_bodies.NAMESPACE_UPDATE),
    ("GET POST", "jobs", herd_bodies.JOB_START),
    ("GET DELETE", "jobs/ids/{id}", None),
    ("POST", "jobs/ids/{id}/token", None),
    ("GET POST", "jobDefinitions", herd_bodies.JOB_CREATE),
    ("GET PUT DELETE", "jobDefinitions/namespaces/{ns}/jobNames/{job}", herd_bodies.JOB_UPDATE),
    ("GET", "jobDefinitions/namespaces/{ns}", None),
    ("POST", "businessObjectData", data_bodies.DATA_CREATE),
    ("GET", f"businessObjectData/{_FORMAT}", None),
    ("DELETE", f"businessObjectData/{_DATA}", None),
    ("GET", f"businessObjectDataStatus/{_FORMAT}", None),
    ("PUT", f"businessObjectDataStatus/{_DATA}", data_bodies.STATUS_UPDATE),
    ("POST", _NOTICES, data_bodies.NOTIFICATION_CREATE),
    ("GET PUT DELETE", _NOTICE, data_bodies.NOTIFICATION_UPDATE),
    ("GET", f"{_NOTICES}/namespaces/{{ns}}", None),
    (
        "PUT",
        "notificationRegistrationStatus/namespaces/{ns}/notificationNames/{name}",
        data_bodies.NOTIFICATION_STATUS,
    ),
    ("GET", "{what}", None),
)


@st.composite
def cdap(draw: Draw, world: World) -> Call:
    """`/v3/…` and `/v1/execute/…`"""
    path, schema = draw(st.sampled_from(CDAP_CALLS))
    body = draw(_sent(schemas.CDAP[schema], {}))
    return Call(
        draw(_callers), draw(_methods("GET", "POST", "PUT", "DELETE")), draw(_path(path, world)), body
    )


_SECURITY, _NS = "/v3/security/authorization", "/v3/namespaces/ns1"
CDAP_CALLS = (
    (f"{_SECURITY}//privileges/grant", "privileges"),
    (f"{_SECURITY}//privileges/revoke", "privileges"),
    (f"{_SECURITY}/roles", "entity"),
    (f"{_SECURITY}/roles/{{role}}", "entity"),
    (f"{_SECURITY}/{{kind}}/{{name}}/privileges", "entity"),
    (f"{_SECURITY}/user/ana/privileges", "entity"),
    (f"{_SECURITY}/user/{{name}}/roles/{{role}}", "entity"),
    (f"{_SECURITY}/group/{{name}}/roles", "entity"),
    ("/v1/execute/enforce", "enforce"),
    ("/v1/execute/isVisible", "isVisible"),
    ("/v3/namespaces", "entity"),
    ("/v3/namespaces/{ns}", "entity"),
    (f"{_NS}/properties", "entity"),
    *(
        (f"{_NS}/{place}{more}", "entity")
        for place in (
            "apps",
            "artifacts",
            "data/datasets",
            "data/modules",
            "data/types",
            "streams",
            "securekeys",
        )
        for more in ("", "/{name}", "/{name}/properties")
    ),
    (f"{_NS}/artifacts/{{name}}/versions/{{version}}", "entity"),
    (f"{_NS}/securekeys/{{name}}/metadata", "entity"),
    (f"{_NS}/workflows", "entity"),
    (f"{_NS}/apps/{{app}}/workflows/{{name}}", "entity"),
    ("/v3/unrecoverable/namespaces/{ns}/datasets", "entity"),
    ("/v3/unrecoverable/namespaces/{ns}", "entity"),
)


@st.composite
def trino(draw: Draw, world: World) -> Call:
    """`/v1/data/trino/…`"""
    what = draw(
        st.sampled_from(("allow", "allow", "batch", "batch", "rowFilters", "columnMask", "batchColumnMasks"))
    )
    query = draw(
        st.sampled_from(("?realm=demo", "?realm=demo&catalog=lake:shop", "")) | _query(("realm", "catalog"))
    )
    body = draw(_sent(schemas.trino(sorted(OPERATIONS)), {}))
    return Call(draw(_callers), draw(_methods("POST")), f"/v1/data/trino/{what}{query}", body)


@st.composite
def scim(draw: Draw, world: World) -> Call:
    """`/scim/v2/`, from the schemas of its own resources."""
    kind = draw(st.sampled_from(("Users", "Groups")))
    whole = (User if kind == "Users" else Group).model_json_schema()
    operation = schemas.record(
        op=schemas.a_word("add", "replace", "remove", "Add"), path=schemas.TEXT, value={}
    )
    patch = schemas.record(schemas=schemas.a_word(_PATCH), Operations=schemas.listed(operation))
    bulk = schemas.record(
        method=schemas.a_word("POST", "PUT", "PATCH", "DELETE"),
        path=schemas.TEXT,
        bulkId=schemas.TEXT,
        data=patch,
    )
    body, path = draw(
        st.sampled_from(
            (
                (whole, f"/{kind}"),
                (whole, f"/{kind}/{{id}}"),
                (patch, f"/{kind}/{{id}}"),
                (whole, "/{what}"),
                (
                    schemas.record(
                        schemas=schemas.listed(schemas.a_word(_BULK)),
                        Operations=schemas.listed(bulk),
                        failOnErrors={"type": "integer"},
                    ),
                    "/Bulk",
                ),
                (
                    schemas.record(
                        schemas=schemas.listed(schemas.a_word(_SEARCH)),
                        filter=schemas.a_word(*FILTERS),
                        startIndex={"type": "integer"},
                        count={"type": "integer"},
                        sortBy=schemas.TEXT,
                    ),
                    "/.search",
                ),
            )
        )
    )
    query = draw(
        _query(("filter", "startIndex", "count", "sortBy", "sortOrder", "attributes", "excludedAttributes"))
    )
    if draw(st.booleans()):
        query = f"?{urlencode({'filter': draw(st.sampled_from(FILTERS))}, errors='replace')}"
    headers = {"If-Match": draw(texts)} if draw(st.integers(0, 9)) == 0 else {}
    who = draw(st.sampled_from(("directory",) * 20 + CALLERS))
    method = draw(_methods("GET", "POST", "PUT", "PATCH", "DELETE"))
    place = "/scim/v2" + draw(_path(path, world))
    return Call(
        who, method, place + query, draw(_sent(body, whole)), "application/scim+json", _latin(headers)
    )


_MESSAGES = "urn:ietf:params:scim:api:messages:2.0:"
_PATCH, _BULK, _SEARCH = (f"{_MESSAGES}{name}" for name in ("PatchOp", "BulkRequest", "SearchRequest"))


def _latin(headers: Mapping[str, Any]) -> dict[str, str]:
    """As a server hands headers on: without ends of lines, each byte a character."""
    return {
        name: str(value).encode(errors="replace").decode("latin-1").translate({10: " ", 13: " ", 0: " "})
        for name, value in headers.items()
    }


SURFACES = {
    "authz v1": v1,
    "AuthZEN": authzen,
    "SCIM": scim,
    "Gravitino": gravitino,
    "Herd": herd,
    "CDAP": cdap,
    "Trino": trino,
}
