"""What jobs tell about their uses: once a run, about themselves, and about nobody who is not there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people, tokens
from accounts.models import Principal
from accounts.tokens import Run
from policies.analytics import uses
from policies.models import Change, Use
from policies.services import realms
from policies.tasks import forget_uses
from tests.admitted import admitted_service
from tests.api.world import BY, Caller, Shop, token, user

USES = "/authz/v1/uses"
ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
READ = {"resource": ORDERS, "action": "read", "executed": True}


def tell(caller: Caller, *told: dict[str, Any], run: str = "app-1", realm: str = "demo") -> Any:
    return caller.send(USES, {"realm": realm, "run": run, "uses": list(told)})


def kept() -> list[tuple[str, str, str, bool]]:
    rows = Use.objects.select_related("principal").order_by("run", "pk")
    return [(row.run, str(row.principal), row.action, row.executed) for row in rows]


@pytest.fixture
def job(shop: Shop) -> Caller:
    return Caller(token("user", "ana", "report"))


def test_a_use_is_kept_once_a_run(shop: Shop, job: Caller) -> None:
    changes = Change.objects.count()
    for run in ("app-1", "app-1", "app-2"):
        response = tell(job, READ, READ, run=run)
        assert (response.status_code, response.json()) == (202, {"run": run, "received": 2})
    assert kept() == [("app-1", "user:ana", "read", True), ("app-2", "user:ana", "read", True)]
    assert Change.objects.count() == changes


def test_what_was_prepared_and_then_done_was_done(shop: Shop, job: Caller) -> None:
    earlier = "2026-01-01T10:00:00Z"
    tell(job, {**READ, "executed": False, "at": earlier})
    assert uses.last_use(shop.tables["orders"]) is None
    tell(job, {**READ, "at": "2026-01-01T11:00:00Z"})
    tell(job, {**READ, "executed": False, "at": earlier})
    [row] = Use.objects.all()
    assert (row.executed, row.at) == (True, datetime(2026, 1, 1, 11, tzinfo=UTC))


def test_the_last_use_of_an_object_and_of_a_person(shop: Shop, job: Caller) -> None:
    items = {"type": "table", "id": "demo/shop.sales.items"}
    tell(
        job, {**READ, "at": "2026-01-01T10:00:00Z"}, {**READ, "resource": items, "at": "2026-01-02T10:00:00Z"}
    )
    tell(Caller(token("user", "olivia")), {**READ, "at": "2026-01-03T10:00:00Z"}, run="other")
    last = uses.last_use(shop.tables["orders"])
    assert last is not None
    assert str(last.principal) == "user:olivia"
    last_by_object = uses.last_uses(user("ana"), [shop.realm.realm_id])
    assert [item.securable_id for item in last_by_object] == [
        shop.tables["items"].id,
        shop.tables["orders"].id,
    ]


def test_a_clock_that_is_ahead_is_not_believed(shop: Shop, job: Caller) -> None:
    tell(job, {**READ, "at": (timezone.now() + timedelta(days=400)).isoformat()})
    assert Use.objects.get().at <= timezone.now()


@pytest.mark.parametrize(
    "named",
    [ORDERS, "table:demo/shop.sales.orders", 'table:demo/shop.sales."orders"'],
    ids=["type and id", "one text", "quoted"],
)
def test_the_object_is_named_as_elsewhere(shop: Shop, job: Caller, named: Any) -> None:
    tell(job, {"resource": named, "action": "read"})
    assert Use.objects.get().securable_id == shop.tables["orders"].id


def test_people_report_only_their_own_uses(shop: Shop, job: Caller) -> None:
    response = tell(job, READ, {**READ, "principal": "user:olivia"})
    assert response.status_code == 403
    assert "your own uses" in response.json()["detail"]
    assert kept() == []


def test_a_service_account_tells_of_those_its_jobs_ran_for(shop: Shop) -> None:
    connect = Caller(tokens.create(admitted_service("connect"), scopes=("report",)))
    reports = [
        {**READ, "principal": name} for name in ("user:ana", "olivia", "user:nobody", "service:connect")
    ]
    assert tell(connect, *reports).status_code == 202
    assert sorted(who for _, who, *_ in kept()) == ["service:connect", "user:ana", "user:olivia"]
    assert not Principal.objects.filter(name="nobody").exists()


def of_a_run(shop: Shop, name: str = "r1", who: str = "etl") -> Caller:
    run = Run(name, shop.realm.realm_id, user("olivia"))
    until = timezone.now() + timedelta(hours=1)
    return Caller(tokens.create_for_run(people.ensure("service", who), run, expires=until))


def test_a_run_tells_of_itself_under_its_own_name(shop: Shop) -> None:
    admitted_service("etl")
    running = of_a_run(shop)
    assert tell(running, READ, run="r1").status_code == 202
    assert tell(running, READ, run="r1#2").status_code == 202
    for run in ("r2", "r1x", "#r1"):
        assert tell(running, READ, run=run).status_code == 403
    assert tell(running, {**READ, "principal": "user:ana"}, run="r1").status_code == 403
    other = realms.create("gravitino", "other", owner=user("marek"), **BY)
    assert tell(running, READ, run="r1", realm=other.realm).status_code == 403
    assert len(kept()) == 2


def test_nobody_tells_of_the_run_of_another(shop: Shop) -> None:
    of_a_run(shop)
    connect, etl = (Caller(tokens.create(admitted_service(name))) for name in ("connect", "etl"))
    assert tell(connect, READ, run="r1").status_code == 403
    assert tell(etl, READ, run="r1").status_code == 202


def test_a_service_account_tells_only_where_it_is_admitted(shop: Shop) -> None:
    elsewhere = Caller(token("service", "elsewhere"))
    hidden, absent = (tell(elsewhere, READ, realm=realm) for realm in ("demo", "nowhere"))
    assert hidden.status_code == absent.status_code == 403
    assert hidden.content == absent.content


def test_two_may_call_their_runs_the_same(shop: Shop, job: Caller) -> None:
    tell(job, READ, run="nightly")
    tell(Caller(token("user", "olivia")), READ, run="nightly")
    assert len(kept()) == 2


@pytest.mark.parametrize(
    "use",
    [
        {**READ, "resource": {"type": "table", "id": "demo/shop.sales.nothing"}},
        {**READ, "resource": {"type": "planet", "id": "demo/x"}},
        {**READ, "resource": {"type": "table", "id": "demo/..."}},
        {**READ, "resource": {"type": "table", "id": "other/shop.sales.orders"}},
        {**READ, "resource": {"type": "table", "id": "demo/shop.sales.\0"}},
        {**READ, "resource": {"type": "table", "id": "x" * 5000}},
        {**READ, "action": "fly"},
        {**READ, "action": "x" * 5000},
    ],
    ids=["absent", "no type", "no name", "elsewhere", "NUL", "long", "no action", "long action"],
)
def test_what_is_not_there_is_taken_like_what_is(shop: Shop, job: Caller, use: dict[str, Any]) -> None:
    assert tell(job, use).status_code == 202
    assert kept() == []


BAD = {
    "no body": b"",
    "no json": b"{",
    "a list": [],
    "no realm": {"run": "r", "uses": []},
    "no run": {"realm": "demo", "uses": []},
    "an empty run": {"realm": "demo", "run": "", "uses": []},
    "a run with NUL": {"realm": "demo", "run": "a\0", "uses": []},
    "a long run": {"realm": "demo", "run": "x" * 5000, "uses": []},
    "no uses": {"realm": "demo", "run": "r"},
    "uses of another kind": {"realm": "demo", "run": "r", "uses": {"a": 1}},
    "a use of another kind": {"realm": "demo", "run": "r", "uses": [3]},
    "no resource": {"realm": "demo", "run": "r", "uses": [{"action": "read"}]},
    "a number for a resource": {"realm": "demo", "run": "r", "uses": [{**READ, "resource": 3}]},
    "half a resource": {"realm": "demo", "run": "r", "uses": [{**READ, "resource": {"type": "table"}}]},
    "no action": {"realm": "demo", "run": "r", "uses": [{"resource": ORDERS}]},
    "an action of another kind": {"realm": "demo", "run": "r", "uses": [{**READ, "action": ["read"]}]},
    "executed as a text": {"realm": "demo", "run": "r", "uses": [{**READ, "executed": "true"}]},
    "a moment of another kind": {"realm": "demo", "run": "r", "uses": [{**READ, "at": 3}]},
    "no moment": {"realm": "demo", "run": "r", "uses": [{**READ, "at": "soon"}]},
    "too many": {"realm": "demo", "run": "r", "uses": [READ] * 10_001},
}


@pytest.mark.parametrize("body", BAD.values(), ids=list(BAD))
def test_garbage_is_told_and_changes_nothing(shop: Shop, job: Caller, body: object) -> None:
    response = job.send(USES, body)
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
    assert kept() == []


def test_who_may_not_tell(shop: Shop, job: Caller) -> None:
    assert tell(Caller(), READ).status_code == 401
    assert tell(Caller(token("user", "ana", "check")), READ).status_code == 403
    assert tell(job, READ, realm="absent").content == tell(
        Caller(token("user", "stranger")), READ
    ).content.replace(b"demo", b"absent")
    assert job.get(USES).status_code == 400  # reads them, in parts
    assert job.put(USES).status_code == 405
    assert kept() == []


def test_the_number_of_queries_does_not_grow(shop: Shop, job: Caller) -> None:
    def count(*reports: dict[str, Any]) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert tell(job, *reports).status_code == 202
        return len(seen)

    count(READ)
    many = [{**READ, "resource": f"table:demo/shop.sales.t{number}"} for number in range(200)]
    assert count(READ, *many) == count(READ)


def test_what_is_long_past_goes_but_for_the_last_of_its_kind(shop: Shop, job: Caller) -> None:
    now = timezone.now()
    for run, days, executed in (("a", 900, True), ("b", 800, True), ("c", 700, False), ("d", 10, False)):
        at = (now - timedelta(days=days)).isoformat()
        tell(job, {**READ, "at": at, "executed": executed}, run=run)
    items = {"type": "table", "id": "demo/shop.sales.items"}
    tell(job, {**READ, "resource": items, "at": (now - timedelta(days=900)).isoformat()}, run="e")
    forget_uses()
    assert [run for run, *_ in kept()] == ["b", "d", "e"]
