"""A service asks before its handlers run: for whoever calls, whoever the service runs as."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from accounts import tokens
from lakewarden.client import AccessDenied, BadName, Unavailable
from lakewarden.client.cache import Cache
from lakewarden.law.objects import ObjectRef
from lakewarden.law.principals import Principal
from lakewarden.middleware import AsgiGuard, Guard, NotSignedIn, Rule, WsgiGuard
from tests.admitted import admitted_service
from tests.cdap_law.world import a_cdap, give, make

from .conftest import Peer, answer
from .site import Site

YES = {"decision": True, "context": {}}
NO = {
    "decision": False,
    "context": {
        "reason_user": "bob may not read dataset cdap/ns1.one.",
        "missing": [
            {"kind": "privilege", "privilege": "READ", "object": {"type": "dataset", "id": "cdap/ns1.one"}}
        ],
        "request_url": "http://console/why",
    },
}
RULES = [
    Rule("GET", "/datasets/{name}", "read", "dataset:cdap/ns1.{name}"),
    Rule("POST", "/datasets/{name}/rows", "write", "dataset:cdap/ns1.{name}"),
    Rule("*", "/{space}/whole", "ADMIN", "namespace:cdap/{space}"),
]


def in_a_loop(coroutine: Any) -> Any:
    """Run it in a thread of its own: a browser of an earlier test may keep a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


class Said(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


Call = Callable[..., Said]


def wsgi(guard: Guard, **options: Any) -> Call:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"the rows"]

    guarded = validator(WsgiGuard(validator(app), guard, RULES, **options))

    def call(method: str, path: str, who: str | None = "alice") -> Said:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path.encode().decode("latin-1"),
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
        }
        setup_testing_defaults(environ)
        if who is not None:
            environ["REMOTE_USER"] = who
        started: list[Any] = []
        answered = guarded(environ, lambda status, headers, error=None: started.append((status, headers)))
        body = b"".join(answered)
        answered.close()
        return Said(int(started[0][0][:3]), dict(started[0][1]), body)

    return call


def asgi(guard: Guard, **options: Any) -> Call:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the rows"})

    guarded = AsgiGuard(app, guard, RULES, caller=lambda scope: scope.get("user"), **options)

    def call(method: str, path: str, who: str | None = "alice", kind: str = "http") -> Said:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": kind, "method": method, "path": path, "user": who}
        in_a_loop(guarded(scope, None, send))
        if kind != "http":
            return Said(0, {}, json.dumps(sent).encode())
        headers = {name.decode().title(): value.decode() for name, value in sent[0]["headers"]}
        return Said(sent[0]["status"], headers, sent[1]["body"])

    return call


@pytest.fixture(params=[wsgi, asgi], ids=["wsgi", "asgi"])
def served(request: pytest.FixtureRequest, console: Peer) -> Callable[..., Call]:
    def made(**options: Any) -> Call:
        call: Call = request.param(Guard(console.client(attempts=1)), **options)
        return call

    return made


def asked(console: Peer) -> list[tuple[str, str, str, str]]:
    return [
        (body["subject"]["id"], body["action"]["name"], body["resource"]["type"], body["resource"]["id"])
        for _, body, _ in console.asked
    ]


@pytest.mark.seed("S2-057")
def test_it_asks_for_the_caller_before_the_handler_runs(served: Callable[..., Call], console: Peer) -> None:
    console.scripts = [answer(YES)]
    call = served()
    assert call("GET", "/datasets/one").body == b"the rows"
    assert call("POST", "/datasets/one/rows", "bob").body == b"the rows"
    assert call("DELETE", "/ns1/whole").body == b"the rows"
    assert asked(console) == [
        ("alice", "read", "dataset", "cdap/ns1.one"),
        ("bob", "write", "dataset", "cdap/ns1.one"),
        ("alice", "ADMIN", "namespace", "cdap/ns1"),
    ]


@pytest.mark.seed("S2-057")
def test_a_no_keeps_the_handler_from_running_and_says_why(served: Callable[..., Call], console: Peer) -> None:
    console.scripts = [answer(NO)]
    response = served()("GET", "/datasets/one", "bob")
    assert (response.status, response.headers["Content-Type"]) == (403, "application/problem+json")
    problem = json.loads(response.body)
    assert problem["detail"] == "bob may not read dataset cdap/ns1.one."
    assert problem["missing"] == ["lacks READ on dataset cdap/ns1.one"]
    assert problem["request_url"] == "http://console/why"


@pytest.mark.parametrize("who", [None, ""])
def test_nobody_signed_in_is_nobody(served: Callable[..., Call], console: Peer, who: str | None) -> None:
    response = served()("GET", "/datasets/one", who)
    assert response.status == 401
    assert {name.lower(): value for name, value in response.headers.items()}["www-authenticate"] == "Bearer"
    assert console.asked == []


def test_a_name_is_a_user_s_whatever_it_looks_like(served: Callable[..., Call], console: Peer) -> None:
    console.scripts = [answer(YES)]
    served()("GET", "/datasets/one", "service:etl")
    assert console.asked[0][1]["subject"] == {"type": "user", "id": "service:etl"}


@pytest.mark.parametrize(
    ("path", "id_"),
    [
        ("/datasets/one.two", 'cdap/ns1."one.two"'),
        ('/datasets/x"."y', 'cdap/ns1."x"".""y"'),
        ("/datasets/..", 'cdap/ns1.".."'),
        ("/datasets/{name}", "cdap/ns1.{name}"),
        ("/datasets/naïve 店", "cdap/ns1.naïve 店"),
        ("/datasets/" + "x" * 5000, "cdap/ns1." + "x" * 5000),
    ],
)
def test_a_field_is_one_part_of_a_name(
    served: Callable[..., Call], console: Peer, path: str, id_: str
) -> None:
    console.scripts = [answer(YES)]
    served()("GET", path)
    assert [item[3] for item in asked(console)] == [id_]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/datasets/"),
        ("GET", "/datasets/a/b"),
        ("PUT", "/datasets/one"),
        ("GET", "//datasets/one"),
    ],
)
def test_what_no_rule_speaks_of_is_refused(
    served: Callable[..., Call], console: Peer, method: str, path: str
) -> None:
    assert served()(method, path).status == 403
    assert console.asked == []


def test_what_is_public_is_said_to_be(served: Callable[..., Call], console: Peer) -> None:
    assert served(public=["/health"])("GET", "/health", None).status == 200
    assert console.asked == []


def test_without_a_decision_nothing_runs(served: Callable[..., Call], console: Peer) -> None:
    console.scripts = [answer("away", 503)]
    response = served()("GET", "/datasets/one")
    assert (response.status, b"the rows" in response.body) == (503, False)


def test_websockets_are_closed(console: Peer) -> None:
    call = asgi(Guard(console.client()))
    closed = [{"type": "websocket.close", "code": 1008}]
    assert json.loads(call("GET", "/datasets/one", kind="websocket").body) == closed


# The decorator


def test_a_function_runs_only_for_those_who_may(console: Peer) -> None:
    console.scripts = [answer(YES), answer(NO), answer("away", 503)]
    guard, ran = Guard(console.client(attempts=1)), []

    @guard.require("read", "dataset:cdap/ns1.{name}", caller=lambda request, name: request["user"])
    def show(request: dict[str, str], name: str) -> str:
        ran.append(name)
        return f"rows of {name}"

    assert show({"user": "alice"}, name="one") == "rows of one"
    with pytest.raises(AccessDenied):
        show({"user": "bob"}, "one")
    with pytest.raises(Unavailable):
        show({"user": "alice"}, "one")
    with pytest.raises(NotSignedIn):
        show({"user": ""}, "one")
    with pytest.raises(BadName):
        show({"user": "alice"}, "")
    assert ran == ["one"]
    assert show.__name__ == "show"


def test_a_coroutine_is_guarded_alike(console: Peer) -> None:
    console.scripts = [answer(YES), answer(NO)]
    guard = Guard(console.client(attempts=1))

    @guard.require("read", "dataset:cdap/ns1.{name}", caller=lambda name="": Principal("service", "etl"))
    async def show(name: str = "one") -> str:
        return f"rows of {name}"

    assert in_a_loop(show()) == "rows of one"
    with pytest.raises(AccessDenied):
        in_a_loop(show())
    assert console.asked[0][1]["subject"] == {"type": "service", "id": "etl"}


@pytest.mark.parametrize("resource", ["", "dataset", "dataset:", "table:demo/a..b"])
def test_a_rule_about_nothing_is_refused_when_it_is_made(resource: str) -> None:
    with pytest.raises(BadName):
        Rule("GET", "/x", "read", resource)


def test_rules_are_equal_when_they_say_the_same() -> None:
    assert RULES[0] == Rule("GET", "/datasets/{name}", "read", "dataset:cdap/ns1.{name}")
    assert RULES[0].object_of("GET", "/datasets/x") == ObjectRef("dataset", "cdap", ("ns1", "x"))


# Before a real console


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.mark.django_db(transaction=True)
@pytest.mark.seed("S2-056", "S2-068")
@pytest.mark.parametrize("kept", [False, True], ids=["asked each time", "from a cache"])
def test_the_caller_s_rights_count_and_not_the_service_s(site: Site, kept: bool) -> None:
    root = a_cdap("cdap", "3.5")
    make(root, "namespace:ns1", "dataset:ns1.one", "dataset:ns1.two")
    give(root, "alice", "READ on dataset:ns1.one")
    service = admitted_service("reports")
    give(root, "service:reports", "READ on dataset:ns1.two")
    client = site.client(tokens.create(service, scopes=("check",)))
    call = wsgi(Guard(Cache(client) if kept else client))
    assert call("GET", "/datasets/one", "alice").status == 200
    assert call("GET", "/datasets/one", "bob").status == 403
    assert call("GET", "/datasets/two", "alice").status == 403
