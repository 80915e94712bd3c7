"""What changes would do, for people who could make them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people, tokens
from policies.record import access_log
from policies.services import members, objects, owners, roles
from policies.services.roles import Privilege
from tests.api.world import BY, Caller, Shop, token, user
from tests.factories import a_use
from tests.simulation.databases import contents

ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
GRANT = {"change": "grant", "principal": "user:ana", "resource": ORDERS, "privileges": ["SELECT_TABLE"]}


@pytest.fixture
def olivia(shop: Shop) -> Caller:
    """The owner of schema shop.sales, who may use the catalog that it is in."""
    way = roles.create(shop.realm, "way", **BY)
    roles.add_privileges(way, shop.catalog, [Privilege("USE_CATALOG")], **BY)
    roles.assign(way, user("olivia"), **BY)
    return Caller(token("user", "olivia"))


@pytest.fixture
def marek(shop: Shop) -> Caller:
    """The owner of the realm."""
    return Caller(token("user", "marek"))


def simulate(caller: Caller, *changes: dict[str, Any], status: int = 200, **more: Any) -> Any:
    response = caller.send("/authz/v1/simulate", {"realm": "demo", "changes": list(changes), **more})
    assert response.status_code == status, response.content
    return response.json()


def asked(subject: str, action: str, resource: dict[str, str] = ORDERS) -> dict[str, Any]:
    kind, _, name = subject.partition(":")
    return {"subject": {"type": kind, "id": name}, "action": {"name": action}, "resource": resource}


def test_an_owner_sees_who_gains_what_before_a_grant(shop: Shop, olivia: Caller) -> None:
    answer = simulate(olivia, GRANT, questions=[asked("user:ana", "read"), asked("user:nobody", "read")])
    [line] = answer["difference"]["results"]
    assert (line["principal"], line["resource"], line["loses"]) == ("user:ana", ORDERS, [])
    assert "read" in line["gains"]
    assert answer["difference"]["totals"]["people_gaining"] == 1
    first, second = answer["decisions"]
    assert (first["before"]["decision"], first["after"]["decision"]) == (False, True)
    assert second["before"] == {"decision": False, "reason": "unknown"}
    assert answer["replay"] is None


def test_nothing_is_written(shop: Shop, marek: Caller) -> None:
    a_use("ana", shop.tables["orders"])
    simulate(marek, GRANT)  # that a token is in use is noted, now and then
    before = contents()
    simulate(
        marek,
        GRANT,
        {"change": "unassign_role", "role": "readers", "principal": "user:ana"},
        {"change": "add_to_role", "role": "readers", "resource": ORDERS, "privileges": ["MODIFY_TABLE"]},
        {"change": "set_owner", "resource": "schema:demo/shop.sales", "principal": "user:ana"},
        {"change": "move", "resource": ORDERS, "to": "schema:demo/shop.secret"},
        {"change": "drop", "resource": "schema:demo/shop.secret"},
        {"change": "remove_member", "principal": "user:bob"},
        questions=[asked("user:ana", "read")],
        replay={"days": 30},
    )
    after = contents()
    assert {name for name in after if before[name] != after[name]} == set()


def test_a_replay_names_the_jobs_that_would_have_failed(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    a_use("ana", shop.tables["orders"], days=1)
    a_use("ana", shop.tables["orders"], days=2, by="weekly")
    a_use("ana", shop.tables["items"], days=40)
    a_use("bob", shop.tables["orders"])
    unassign = {"change": "unassign_role", "role": "readers", "principal": "user:ana"}
    replay = simulate(marek, unassign, replay={"days": 30})["replay"]
    assert (replay["reported"], replay["objects"], replay["days"]) == (1, 5, 30)
    [use] = replay["refused"]["results"]
    assert (use["principal"], use["resource"], use["action"]) == ("user:ana", ORDERS, "read")
    assert (use["jobs"], use["times"]) == (["service:nightly", "service:weekly"], 2)
    assert replay["allowed"] == {"count": 0, "results": []}
    assert simulate(marek, unassign, replay={})["replay"]["refused"]["count"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"change": "move", "resource": ORDERS, "to": "schema:demo/shop.secret"},
        {"change": "drop", "resource": ORDERS},
        {"change": "drop", "resource": "schema:demo/shop.sales"},
        {"change": "set_owner", "resource": "schema:demo/shop.sales", "principal": "user:bob"},
    ],
    ids=["move", "drop", "drop of what it is in", "another owner"],
)
def test_a_replay_names_what_a_change_of_objects_would_refuse(
    shop: Shop, marek: Caller, olivia: Caller, change: dict[str, Any]
) -> None:
    a_use("olivia", shop.tables["orders"])
    replay = simulate(marek, change, replay={})["replay"]
    [use] = replay["refused"]["results"]
    assert (use["principal"], use["resource"], use["action"]) == ("user:olivia", ORDERS, "read")
    assert replay["refused"]["count"] == 1


def test_a_rename_changes_nobody_s_access(shop: Shop, marek: Caller) -> None:
    a_use("olivia", shop.tables["orders"])
    answer = simulate(marek, {"change": "move", "resource": ORDERS, "name": "bookings"}, replay={})
    assert answer["difference"]["results"] == []
    assert (answer["replay"]["refused"]["count"], answer["replay"]["allowed"]["count"]) == (0, 0)


def test_what_has_ended_by_then_gives_nothing(shop: Shop, marek: Caller) -> None:
    now = timezone.now()
    end = {"valid_until": (now + timedelta(days=1)).isoformat()}
    assign = {"change": "assign_role", "role": "readers", "principal": "user:bob", **end}
    gives = {"change": "add_to_role", "role": "readers", "resource": ORDERS, "privileges": ["SELECT_TABLE"]}
    for change in ({**GRANT, **end}, {**gives, **end}):
        for days, many in ((0, 1), (2, 0)):
            at = (now + timedelta(days=days, minutes=5)).isoformat()
            totals = simulate(marek, change, at=at)["difference"]["totals"]
            assert totals["people_gaining"] == many, (change, days)
    then = (now + timedelta(days=2)).isoformat()
    totals = simulate(marek, gives, assign, at=then)["difference"]["totals"]
    assert totals["people_gaining"] == 1  # ana, who holds the role for good; of bob it is taken by then


def test_a_replay_names_uses_of_what_is_gone(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    a_use("ana", shop.tables["orders"])
    objects.drop(shop.tables["orders"], **BY)
    unassign = {"change": "unassign_role", "role": "readers", "principal": "user:ana"}
    replay = simulate(marek, unassign, replay={})["replay"]
    [use] = replay["gone"]["results"]
    assert (use["principal"], use["resource"], use["times"]) == ("user:ana", ORDERS, 1)
    assert (replay["gone"]["count"], replay["refused"]["count"]) == (1, 0)


def test_a_replay_names_the_refusals_that_would_be_none(shop: Shop, olivia: Caller) -> None:
    access_log.refused(user("ana"), "read", shop.tables["orders"], via="api")
    access_log.refused(user("ana"), "read", shop.tables["orders"], via="api")
    [line] = simulate(olivia, GRANT, replay={})["replay"]["allowed"]["results"]
    assert (line["principal"], line["times"], line["jobs"]) == ("user:ana", 2, [])


def test_only_people_who_could_make_the_change_may_ask(shop: Shop, ana: Caller, olivia: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    simulate(ana, GRANT, status=403)
    elsewhere = {"change": "drop", "resource": "schema:demo/shop.secret"}
    simulate(olivia, elsewhere, status=404)
    simulate(
        olivia, GRANT, {"change": "unassign_role", "role": "readers", "principal": "user:ana"}, status=404
    )
    simulate(olivia, {"change": "join_group", "group": "g", "principal": "user:ana"}, status=404)


def test_what_is_hidden_is_as_what_is_absent(shop: Shop, olivia: Caller) -> None:
    hidden = {**GRANT, "resource": {"type": "table", "id": "demo/shop.secret.plans"}}
    absent = {**GRANT, "resource": {"type": "table", "id": "demo/shop.secret.nothing"}}
    details = [simulate(olivia, change, status=404)["detail"] for change in (hidden, absent)]
    assert details[0].replace("plans", "x") == details[1].replace("nothing", "x")
    response = olivia.send("/authz/v1/simulate", {"realm": "none", "changes": [GRANT]})
    assert response.status_code == 404


def test_of_others_access_elsewhere_nothing_is_told(shop: Shop, marek: Caller, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ["ada"]
    shop.allow(shop.catalog, "SELECT_TABLE")
    shop.allow(shop.secret, "USE_SCHEMA")
    group = people.ensure("group", "analysts")
    members.add(shop.realm, group, **BY)
    roles.assign(shop.readers, group, **BY)
    owners.set_owner(shop.secret, user("ada"), **BY)
    join = {"change": "join_group", "group": "analysts", "principal": "user:bob"}
    simulate(marek, join, status=403)
    roles.assign(shop.readers, user("ada"), **BY)
    results = simulate(Caller(token("user", "ada")), join)["difference"]["results"]
    assert {line["resource"]["id"] for line in results} == {"demo/shop.secret", "demo/shop.secret.plans"}
    assert {line["principal"] for line in results} == {"user:bob"}


def test_pages_go_on_where_they_ended(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.catalog, "SELECT_TABLE", "MODIFY_TABLE")
    members.add(shop.realm, people.ensure("service", "etl"), **BY)
    change = {"change": "assign_role", "role": "readers", "principal": "service:etl"}
    whole = simulate(marek, change)["difference"]
    pages, cursor = [], ""
    while cursor is not None:
        page = simulate(marek, change, limit=2, cursor=cursor)["difference"]
        assert page["totals"] == whole["totals"]
        pages += page["results"]
        cursor = page["next"]
    assert pages == whole["results"]
    assert len(pages) > 4


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"change": "burn"}, 400),
        ({"change": "grant", "principal": "user:ana", "resource": ORDERS}, 400),
        ({**GRANT, "privileges": ["EVERYTHING"]}, 400),
        ({**GRANT, "resource": 7}, 400),
        ({**GRANT, "resource": "orders"}, 400),
        ({**GRANT, "principal": "user:nobody"}, 404),
        ({**GRANT, "surprise": 1}, 400),
        ({**GRANT, "valid_from": "2031-01-01T00:00:00Z", "valid_until": "2030-01-01T00:00:00Z"}, 400),
        ({"change": "drop", "resource": "metalake:demo"}, 400),
        ({"change": "remove_member", "principal": "user:marek"}, 400),
        ({"change": "move", "resource": ORDERS, "to": "schema:demo/shop.nowhere"}, 404),
        ({"change": "move", "resource": ORDERS, "to": "catalog:demo/shop"}, 403),
        ({"change": "move", "resource": ORDERS, "name": "items"}, 400),
        ({"change": "move", "resource": "schema:demo/shop.sales", "name": "secret"}, 400),
    ],
)
def test_what_makes_no_sense_is_refused(
    shop: Shop, marek: Caller, change: dict[str, Any], status: int
) -> None:
    simulate(marek, change, status=status)


def test_a_grant_that_begins_later_is_asked_about_then(shop: Shop, olivia: Caller) -> None:
    later = {**GRANT, "valid_from": (timezone.now() + timedelta(days=3)).isoformat()}
    answer = simulate(olivia, later)
    assert answer["difference"]["totals"]["people_gaining"] == 1
    soon = (timezone.now() + timedelta(days=1)).isoformat()
    assert simulate(olivia, later, at=soon)["difference"]["totals"]["people_gaining"] == 0
    simulate(olivia, GRANT, at="2001-01-01T00:00:00Z", status=400)


def test_the_scope_is_needed(shop: Shop) -> None:
    caller = Caller(tokens.create(user("marek"), scopes=("report",)))
    simulate(caller, GRANT, status=403)


def test_as_many_queries_for_many_as_for_few(
    shop: Shop, marek: Caller, django_assert_max_num_queries: Any
) -> None:
    shop.allow(shop.catalog, "SELECT_TABLE")
    for number in range(5):
        members.add(shop.realm, user(f"more{number}"), **BY)
        a_use(f"more{number}", shop.tables["orders"])
    changes = [
        {"change": "assign_role", "role": "readers", "principal": f"user:more{number}"} for number in range(5)
    ]
    simulate(marek, *changes[:1], replay={})
    with django_assert_max_num_queries(61):
        simulate(marek, *changes, replay={})
