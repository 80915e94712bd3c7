"""A snapshot is kept fresh, never used beyond its time, given up when the console stays silent or lies."""

from __future__ import annotations

import gzip
import json
import pickle
import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lakewarden.client import BadCredentials, Client, ConsoleError, MayNotAsk, Unavailable, transport
from lakewarden.client.cache import Cache
from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.client.snapshot import (
    LONGEST,
    SCHEMA,
    SCHEMA_OFF,
    SKEW,
    BadSnapshot,
    Snapshot,
    sealed,
    veiled,
)
from lakewarden.law.objects import ObjectRef
from tests.waiting import PATIENCE, until

from .conftest import TOKEN, Peer, answer, raw

NOW = 1_800_000_000.0
ORDERS = ObjectRef("table", "demo", ("shop", "sales", "orders"))


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def wire(**other: Any) -> dict[str, Any]:
    """Ana may use catalog shop and read schema shop.sales, all through role readers."""
    return sealed(
        {
            "schema": SCHEMA,
            "realm": "demo",
            "principal": "user:ana",
            "dialect": "gravitino",
            "revision": 7,
            "issued": iso(NOW),
            "expires": iso(NOW + 3600),
            "next_change_at": None,
            "mode": "on",
            "member": True,
            "service_admin": False,
            "names": [["metalake", "demo"], ["catalog", "demo/shop"], ["schema", "demo/shop.sales"]],
            "stations": [["role", "readers"]],
            "ways": [[0]],
            "facts": [
                [1, "USE_CATALOG", 1, 0, 3, "grant:1"],
                [2, "USE_SCHEMA", 1, 0, 4, "grant:2"],
                [2, "SELECT_TABLE", 1, 0, 5, "grant:3", None, iso(NOW + 9000)],
            ],
            "selves": [],
            "apart": [],
            "locations": {},
            "hidden": [],
            "spellings": [],
            "salt": "",
            **other,
        }
    )


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def held(console: Peer, clock: Clock, **options: Any) -> FreshSnapshot:
    return FreshSnapshot(console.client(attempts=1), "demo", clock=clock, **options)


DOWN = answer("away", 503)


def test_it_is_asked_for_once_until_it_is_due(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire())]
    fresh = held(console, clock, refresh=60)
    for _ in range(3):
        assert fresh.current().decide("read", ORDERS, now=clock())
    assert len(console.asked) == 1
    clock.now += 59
    fresh.current()
    assert len(console.asked) == 1
    clock.now += 2
    fresh.current()
    assert len(console.asked) == 2
    path, _, headers = console.asked[1]
    assert path == "/authz/v1/snapshot?realm=demo"
    assert headers["If-None-Match"] == f'"{wire()["digest"]}"'
    assert headers["Accept-Encoding"] == "gzip"
    assert headers["Authorization"] == f"Bearer {TOKEN}"


def test_what_did_not_change_is_kept(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire()), raw(b"", 304)]
    fresh = held(console, clock, refresh=60)
    first = fresh.current()
    clock.now += 61
    assert fresh.current() is first


def test_a_packed_answer_is_read(console: Peer, clock: Clock) -> None:
    packed = gzip.compress(json.dumps(wire()).encode())
    console.scripts = [raw(packed, Content_Encoding="gzip")]
    assert held(console, clock).current().revision == 7


@pytest.mark.parametrize(
    ("content", "packing"),
    [(b"no gzip", "gzip"), (gzip.compress(b"x" * 100)[:-9], "gzip"), (b"{}", "br")],
    ids=["no gzip", "broken off", "another packing"],
)
def test_what_cannot_be_unpacked_is_no_answer(
    console: Peer, clock: Clock, content: bytes, packing: str
) -> None:
    console.scripts = [raw(content, Content_Encoding=packing)]
    with pytest.raises(Unavailable, match="packed"):
        held(console, clock).current()


def test_a_bomb_is_not_unpacked_to_its_end(console: Peer, clock: Clock) -> None:
    console.scripts = [raw(gzip.compress(b" " * 100_000_000), Content_Encoding="gzip")]
    with pytest.raises(Unavailable, match="larger than"):
        held(console, clock).current()


def test_the_last_one_serves_until_too_many_refreshes_failed(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire()), DOWN, DOWN, DOWN, DOWN, answer(wire(revision=8))]
    fresh = held(console, clock, refresh=60, failures=3)
    fresh.current()
    for _ in range(2):
        clock.now += 61
        assert fresh.current().decide("read", ORDERS, now=clock())
    clock.now += 61
    with pytest.raises(Unavailable, match="status 503"):
        fresh.current()
    clock.now += 2
    with pytest.raises(Unavailable):
        fresh.current()
    clock.now += 2
    assert fresh.current().revision == 8


def test_a_success_in_between_starts_the_count_again(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire()), DOWN, answer(wire()), DOWN, answer(wire())]
    fresh = held(console, clock, refresh=60, failures=2)
    for _ in range(5):
        assert fresh.current()
        clock.now += 61


def test_whoever_gives_up_says_so_to_those_who_can_mend_it(
    console: Peer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    console.scripts = [answer(wire()), DOWN]
    fresh = held(console, clock, refresh=60, failures=1)
    fresh.current()
    clock.now += 61
    with pytest.raises(Unavailable):
        fresh.current()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "everything is refused until the console answers" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(("status", "error"), [(401, BadCredentials), (403, MayNotAsk)])
def test_a_no_of_the_console_is_obeyed_at_once(
    console: Peer, clock: Clock, status: int, error: type[ConsoleError]
) -> None:
    console.scripts = [answer(wire()), answer("revoked", status)]
    fresh = held(console, clock, refresh=60, failures=10)
    fresh.current()
    clock.now += 61
    with pytest.raises(error):
        fresh.current()


@pytest.mark.parametrize(("schema", "what"), [(1, "console"), (2, "console"), (SCHEMA_OFF + 1, "client")])
def test_who_is_too_old_is_told_to_be_updated(console: Peer, clock: Clock, schema: int, what: str) -> None:
    console.scripts = [answer(wire(schema=schema))]
    with pytest.raises(BadSnapshot, match=f"update the {what}"):
        held(console, clock).current()


def test_nobody_goes_beyond_the_next_change(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire(next_change_at=iso(NOW + 10))), DOWN]
    fresh = held(console, clock, refresh=60, failures=99)
    assert fresh.current().decide("read", ORDERS, now=clock())
    clock.now += 10
    with pytest.raises(BadSnapshot) as raised:
        fresh.current()
    assert raised.value.code == "expired"
    assert len(console.asked) == 2


def test_nobody_goes_beyond_the_end(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire()), DOWN]
    fresh = held(console, clock, refresh=60, failures=99)
    fresh.current()
    clock.now += 3601
    with pytest.raises(BadSnapshot):
        fresh.current()


def test_the_change_at_hand_is_asked_for_when_it_comes(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire(next_change_at=iso(NOW + 10))), answer(wire(revision=8))]
    fresh = held(console, clock, refresh=600)
    fresh.current()
    clock.now += 11
    assert fresh.current().revision == 8


def test_a_clock_set_back_asks_again(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire())]
    fresh = held(console, clock, refresh=60)
    fresh.current()
    clock.now -= 30
    fresh.current()
    assert len(console.asked) == 2


LIES = {
    "changed on its way": ({**wire(), "revision": 9}, "digest"),
    "without digest": ({k: v for k, v in wire().items() if k != "digest"}, "digest"),
    "of another schema": (wire(schema=SCHEMA_OFF + 1), "schema"),
    "of a console that tells less": (wire(schema=SCHEMA - 1), "schema"),
    "expired": (wire(issued=iso(NOW - 7200), expires=iso(NOW - 3600)), "expired"),
    "from the future": (wire(issued=iso(NOW + SKEW + 200)), "clock"),
    "good for ever": (wire(expires=iso(NOW + LONGEST + 1)), "expired"),
    "of somebody else": (wire(principal="user:bob"), "other"),
    "of another realm": (wire(realm="prod"), "other"),
    "older": (wire(revision=6), "older"),
    "of an unknown law": (wire(dialect="sharia"), "unreadable"),
    "a moment without zone": (wire(expires="2027-01-15T08:00:00"), "unreadable"),
    "facts on nothing": (wire(facts=[[99, "USE_CATALOG", 1, 0, 3, "x"]]), "unreadable"),
    "facts of no shape": (wire(facts={"a": 1}), "unreadable"),
    "names of no shape": (wire(names=[3]), "unreadable"),
    "an empty object": ({}, "schema"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_a_failed_refresh(console: Peer, clock: Clock, lie: str) -> None:
    body, code = LIES[lie]
    console.scripts = [answer(wire()), answer(body)]
    fresh = held(console, clock, refresh=60, failures=2)
    first = fresh.current()
    clock.now += 61
    assert fresh.current() is first
    clock.now += 61
    with pytest.raises(BadSnapshot) as raised:
        fresh.current()
    assert raised.value.code == code
    assert pickle.loads(pickle.dumps(raised.value)).code == code  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    "body", [raw(b"<html/>", kind="text/html"), raw(b"[]"), raw(b"{"), raw(b"\xff"), raw(b"")]
)
def test_what_is_no_snapshot_is_none(console: Peer, clock: Clock, body: Any) -> None:
    console.scripts = [body]
    with pytest.raises(ConsoleError):
        held(console, clock).current()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", "[" * 100_000, "{}"])
def test_reading_what_is_no_snapshot(text: Any) -> None:
    with pytest.raises(BadSnapshot):
        Snapshot.read(text)


def test_a_name_of_another_realm_or_shape_is_refused(clock: Clock) -> None:
    snapshot = Snapshot.read(wire(), now=NOW)
    assert snapshot.decide("read", ORDERS, now=NOW)
    for ref in (
        ObjectRef("table", "prod", ORDERS.path),
        ObjectRef("table", "demo", ("shop",)),
        ObjectRef("planet", "demo", ("x",)),
        ObjectRef("table", "demo", ("shop", "sal\0es", "x" * 5000)),
    ):
        assert not snapshot.decide("read", ref, now=NOW)
        assert snapshot.explain("read", ref, now=NOW).missing
    assert not snapshot.decide("fly", ORDERS, now=NOW)


def test_a_fixed_one_asks_nobody_and_still_ends(clock: Clock) -> None:
    fresh = FreshSnapshot.fixed(Snapshot.read(wire(), now=NOW), clock=clock)
    assert fresh.current().decide("read", ORDERS, now=clock())
    fresh.drop()
    assert fresh.refresh() is fresh.current()
    clock.now += 3600
    with pytest.raises(BadSnapshot):
        fresh.current()


def test_dropping_and_refreshing_ask_at_once(console: Peer, clock: Clock) -> None:
    console.scripts = [answer(wire()), answer(wire(revision=8)), answer(wire(revision=9)), DOWN]
    fresh = held(console, clock)
    fresh.current()
    fresh.drop()
    assert fresh.current().revision == 8
    assert fresh.refresh().revision == 9
    with pytest.raises(Unavailable):
        fresh.refresh()


@pytest.mark.parametrize("options", [{"refresh": 0}, {"refresh": -1}, {"failures": 0}])
def test_settings_that_cannot_be_meant(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="refresh must be above zero"):
        FreshSnapshot(Client("http://127.0.0.1:9", TOKEN), "demo", **options)


def test_many_threads_cost_one_call_and_a_slow_one_holds_nobody_up(console: Peer, clock: Clock) -> None:
    go_on = threading.Event()

    def slow(handler: Any) -> None:
        go_on.wait(120)
        answer(wire(revision=8))(handler)

    console.scripts = [answer(wire()), slow]
    fresh = held(console, clock, refresh=60)
    fresh.current()
    clock.now += 61
    asking = threading.Thread(target=fresh.current)
    asking.start()
    while len(console.asked) < 2:
        time.sleep(0.01)
    assert [fresh.current().revision for _ in range(10)] == [7] * 10  # while the call still waits
    go_on.set()
    asking.join()
    assert fresh.current().revision == 8
    assert len(console.asked) == 2


def test_what_was_on_its_way_while_it_was_dropped_is_asked_for_again(console: Peer, clock: Clock) -> None:
    fresh = held(console, clock)

    def dropped_meanwhile(handler: Any) -> None:
        fresh.drop()
        answer(wire())(handler)

    console.scripts = [dropped_meanwhile, answer(wire(revision=8))]
    fresh.current()
    assert fresh.current().revision == 8


def test_a_cache_keeps_nothing_that_was_on_its_way_while_somebody_wrote(console: Peer, clock: Clock) -> None:
    cache = Cache(console.client(attempts=1), clock=clock)

    def written_meanwhile(handler: Any) -> None:
        cache.reset()
        answer(wire())(handler)

    console.scripts = [written_meanwhile, answer(wire(facts=[], revision=8))]
    assert cache.check("user:ana", "read", ORDERS)
    assert not cache.check("user:ana", "read", ORDERS)


def test_a_console_that_hangs_costs_one_time_out(console: Peer, clock: Clock) -> None:
    go_on = threading.Event()

    def hangs(handler: Any) -> None:
        clock.now += 61  # as long as one waits for it, the next refresh comes due
        go_on.wait(PATIENCE)

    console.scripts = [answer(wire()), hangs]
    client = console.client(attempts=4)
    fresh = FreshSnapshot(client, "demo", refresh=60, failures=3, clock=clock)
    fresh.current()
    clock.now += 61
    client._transport.timeout = client._transport.total = 2.0
    for _ in range(20):
        assert fresh.current().revision == 7
    go_on.set()
    assert len(console.asked) == 2  # neither four attempts, nor one for each decision


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between the attempts of calls; then there is one second left of ten minutes."""
    real, began, skipped = time.monotonic, time.monotonic(), 0.0
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal skipped
        waited.append(seconds)
        skipped = began + 599 - real()

    def now() -> float:
        return real() + skipped

    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=now, sleep=sleep))
    return waited


def test_a_call_has_its_time_as_a_whole(console: Peer, waits: list[float]) -> None:
    go_on = threading.Event()
    console.scripts = [answer("busy", 503, Retry_After="1"), lambda handler: go_on.wait(PATIENCE)]
    began = time.monotonic()
    with pytest.raises(Unavailable, match="gave no answer"):
        console.client(timeout=600.0, attempts=4).snapshot("demo")
    assert time.monotonic() - began < PATIENCE
    go_on.set()
    assert [round(seconds) for seconds in waits] == [1]
    until(lambda: len(console.asked) == 2)


def test_nobody_waits_for_a_moment_beyond_the_time_of_the_call(console: Peer, waits: list[float]) -> None:
    console.scripts = [answer("busy", 503, Retry_After=f"{transport.LONGEST_WAIT:.0f}")]
    with pytest.raises(Unavailable, match="status 503"):
        console.client(timeout=transport.LONGEST_WAIT - 0.1, attempts=4).snapshot("demo")
    assert (waits, len(console.asked)) == ([], 1)


@pytest.mark.parametrize("realm", ["demo", "other"])
def test_the_way_to_an_object_is_the_same_when_it_is_remembered(
    monkeypatch: pytest.MonkeyPatch, realm: str
) -> None:
    monkeypatch.setattr("lakewarden.client.snapshot.MOST_CONTAINERS", 2)
    hidden = ("table:demo/shop.sales.secret", "schema:demo/shop.sales")
    for veil in ((), hidden):
        held = Snapshot.read(wire(hidden=[veiled("salt", key) for key in veil], salt="salt"), now=NOW)
        paths: list[tuple[str, tuple[str, ...]]] = [
            *(("table", ("shop", schema, name)) for schema in ("sales", "a:b", 'o"d.d') for name in TABLES),
            *((type_, ("shop", "x.y")) for type_ in ("schema", "table", "role", "catalog", "no_type")),
            *((type_, ("readers",)) for type_ in ("role", "catalog", "schema")),
            *((type_, ()) for type_ in ("metalake", "table")),
        ]
        for type_, path in paths * 2:
            ref = ObjectRef(type_, realm, path)
            assert held.lineage(ref) == next(iter(held._lineages(ref, lambda key: ())), ()), ref


TABLES = ("orders", "odd.name", 'quo"ted', "secret")
