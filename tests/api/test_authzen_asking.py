"""Who may ask about whom, and what an asker is not told."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Principal
from policies.models import AccessRecord
from policies.record import inquiries
from policies.services import owners
from tests.admitted import admitted_service
from tests.api.world import BY, EVALUATION, EVALUATIONS, Caller, Shop, question, token, user

ORDERS = "table:demo/shop.sales.orders"
PLANS = "table:demo/shop.secret.plans"
ABOUT_BOB = question("user:bob", "read", ORDERS)


def status(caller: Caller, subject: str, resource: str = ORDERS) -> int:
    return int(caller.send(EVALUATION, question(subject, "read", resource)).status_code)


@pytest.mark.parametrize("scopes", [(), ("check",), ("check", "report")])
def test_everybody_may_ask_about_themselves(shop: Shop, scopes: tuple[str, ...]) -> None:
    assert status(Caller(token("user", "ana", *scopes)), "user:ana") == 200


@pytest.mark.parametrize(
    "subject", ["user:bob", "user:nobody", "group:ana", "service:ana", "user:ANA", "user:", "x:y"]
)
def test_a_person_may_not_ask_about_others(ana: Caller, subject: str) -> None:
    assert status(ana, subject) == 403


def test_a_scope_lends_a_person_nothing(shop: Shop) -> None:
    assert status(Caller(token("user", "ana", "check")), "user:bob") == 403


@pytest.mark.parametrize("scopes", [(), ("check",)])
def test_a_service_account_may_ask_about_anybody_where_it_is_admitted(
    shop: Shop, scopes: tuple[str, ...]
) -> None:
    admitted_service("etl")
    assert status(Caller(token("service", "etl", *scopes)), "user:bob") == 200


@pytest.mark.parametrize("kind", ["user", "service"])
@pytest.mark.parametrize("scope", ["report", "request", "manage", "audit"])
def test_a_token_without_the_scope_may_not_ask_at_all(shop: Shop, kind: str, scope: str) -> None:
    response = Caller(token(kind, "ana", scope)).send(EVALUATION, question(f"{kind}:ana", "read", ORDERS))
    assert (response.status_code, response.json()) == (403, "this token lacks the scope check")


def test_the_duty_reaches_as_far_as_its_object(ada: Caller) -> None:
    assert status(ada, "user:bob", ORDERS) == 200
    assert status(ada, "user:bob", "schema:demo/shop.sales") == 200
    assert status(ada, "user:bob", "table:demo/shop.sales.none") == 200
    assert status(ada, "user:bob", PLANS) == 403
    assert status(ada, "user:bob", "catalog:demo/shop") == 403
    assert status(ada, "user:bob", "table:other/shop.sales.orders") == 403


def test_a_service_admin_may_ask_without_being_a_member(shop: Shop, settings: Any) -> None:
    caller = Caller(token("user", "root"))
    assert status(caller, "user:bob") == 403
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"root"})
    assert status(caller, "user:bob") == 200


def test_in_a_batch_a_question_one_may_not_ask_is_refused_in_its_place(ana: Caller) -> None:
    own = question("user:ana", "use", "catalog:demo/shop")
    response = ana.send(EVALUATIONS, {"evaluations": [own, ABOUT_BOB]})
    first, second = response.json()["evaluations"]
    assert first["decision"] is True
    assert second["decision"] is False
    assert second["context"]["error"]["status"] == 403


def test_a_batch_of_nothing_one_may_ask_is_403(ana: Caller) -> None:
    assert ana.send(EVALUATIONS, {"evaluations": [ABOUT_BOB, ABOUT_BOB]}).status_code == 403


def test_asking_makes_nobody(shop: Shop, etl: Caller) -> None:
    before = set(Principal.objects.values_list("kind", "name"))
    for kind in ("user", "group", "service", "pattern", "robot"):
        etl.decide(f"{kind}:newcomer", "read", ORDERS)
    assert set(Principal.objects.values_list("kind", "name")) == before


def told(caller: Caller, resource: str, action: str = "read") -> str:
    """What a refusal says, with the last name made the same."""
    response = caller.send(EVALUATION, question("user:ana", action, resource))
    assert response.json()["decision"] is False
    name = resource.rpartition(".")[2]
    return str(response.json()).replace(name, "NAME")


@pytest.mark.parametrize(
    "action", ["read", "write", "drop", "grant", "set_owner", "Table.loadTable", "nonsense", ""]
)
def test_a_hidden_object_reads_like_an_absent_one(shop: Shop, ana: Caller, etl: Caller, action: str) -> None:
    for node in (shop.secret, shop.tables["plans"]):
        owners.set_owner(node, user("bob"), **BY)
    shop.allow(shop.tables["plans"], "MODIFY_TABLE", effect="deny")
    for caller in (ana, etl):
        hidden = told(caller, PLANS, action)
        assert hidden == told(caller, "table:demo/shop.secret.nothing", action)
        assert hidden.replace("secret", "nothing") == told(caller, "table:demo/shop.nothing.other", action)
        assert "bob" not in hidden


def test_a_denial_on_a_hidden_object_does_not_show_through(shop: Shop, ana: Caller) -> None:
    before = told(ana, "table:demo/shop.sales.orders")
    shop.allow(shop.tables["orders"], "SELECT_TABLE", effect="deny")
    revision = str(before).split("'revision': ")[1].split(",")[0]
    after = told(ana, "table:demo/shop.sales.orders")
    assert after.split("'revision': ")[1].split(",")[0] != revision
    assert after.split("'revision'")[0] == before.split("'revision'")[0]
    shop.allow(shop.sales, "SELECT_TABLE")
    assert told(ana, "table:demo/shop.sales.orders") == told(ana, "table:demo/shop.sales.nothing")


def test_a_realm_one_is_not_in_reads_like_an_absent_one(shop: Shop) -> None:
    stranger = Caller(token("user", "stranger"))
    answers = [
        str(stranger.decide("user:stranger", action, resource))
        .replace("demo", "REALM")
        .replace("none", "REALM")
        for action in ("read", "drop")
        for realm in ("demo", "none")
        for resource in (f"metalake:{realm}", f"table:{realm}/shop.sales.orders", f"catalog:{realm}/shop")
    ]
    assert answers[:3] == answers[3:6]
    assert answers[6:9] == answers[9:]


def test_all_that_is_lacking_is_named_from_the_top(shop: Shop, ana: Caller) -> None:
    shop.take(shop.sales, "USE_SCHEMA")
    shop.take(shop.catalog, "USE_CATALOG")
    answer = ana.decide("user:ana", "read", ORDERS)
    assert [
        (each["privilege"], each["object"]["id"], each["owner"]) for each in answer["context"]["missing"]
    ] == [
        ("USE_CATALOG", "demo/shop", "user:marek"),
        ("USE_SCHEMA", "demo/shop.sales", "user:marek"),
        ("SELECT_TABLE", "demo/shop.sales.orders", "user:marek"),
    ]


def test_giving_what_is_missing_turns_the_no_into_a_yes(shop: Shop, ana: Caller) -> None:
    shop.take(shop.sales, "USE_SCHEMA")
    for lack in ana.decide("user:ana", "write", ORDERS)["context"]["missing"]:
        place = {"demo/shop.sales": shop.sales, "demo/shop.sales.orders": shop.tables["orders"]}
        shop.allow(place[lack["object"]["id"]], lack["privilege"])
    assert ana.decide("user:ana", "write", ORDERS)["decision"] is True


def test_a_denial_that_must_end_is_named_to_who_may_see_the_object(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    shop.allow(shop.sales, "MODIFY_TABLE", effect="deny")
    [lack, *rest] = ana.decide("user:ana", "write", ORDERS)["context"]["missing"]
    assert lack == {
        "kind": "denied",
        "privilege": "MODIFY_TABLE",
        "object": {"type": "schema", "id": "demo/shop.sales"},
        "owner": "user:olivia",
    }
    assert [each["kind"] for each in rest] == ["privilege"]


def test_a_refusal_is_on_record_and_a_repetition_counted(shop: Shop, ana: Caller, etl: Caller) -> None:
    for caller in (ana, ana, etl):
        caller.decide("user:ana", "read", ORDERS)
    [record] = AccessRecord.objects.filter(kind="refused")
    assert (record.actor, record.operation, record.object_name, record.via) == (
        user("ana").pseudonym,
        "Table.loadTable",
        "demo/shop.sales.orders",
        "authzen",
    )
    assert record.repeat.count == 3


def test_a_yes_leaves_no_record(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    ana.decide("user:ana", "read", ORDERS)
    assert not AccessRecord.objects.exists()


def test_a_person_who_looks_at_anothers_access_is_on_record(ada: Caller, etl: Caller) -> None:
    for caller, subject in ((ada, "user:marek"), (ada, "user:marek"), (ada, "user:ada"), (etl, "user:marek")):
        caller.decide(subject, "read", ORDERS)
    record, of_service = AccessRecord.objects.filter(kind="looked").order_by("pk")
    assert (of_service.operation, of_service.object_name) == (inquiries.ASKS, "demo")
    assert (record.actor, record.operation, record.object_name) == (
        user("ada").pseudonym,
        "why Table.loadTable",
        "demo/shop.sales.orders",
    )
    assert record.repeat.count == 2


@pytest.mark.parametrize(
    ("mode", "data", "control"), [("on", False, False), ("pass-through", True, True), ("off", True, False)]
)
def test_the_mode_of_the_realm_is_obeyed(
    shop: Shop, ana: Caller, mode: str, data: bool, control: bool
) -> None:
    from catalog.models import Realm
    from policies.services import realms

    realms.set_mode(Realm.objects.get(pk=shop.realm.realm_id), mode, **BY)
    assert ana.decide("user:ana", "read", ORDERS)["decision"] is data
    assert ana.decide("user:ana", "grant", ORDERS)["decision"] is control
    assert Caller(token("user", "x")).decide("user:x", "read", ORDERS)["decision"] is False
