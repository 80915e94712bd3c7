"""`/v1/execute`: what containers ask, as CDAP's own client asks it, and who may ask about whom."""

from __future__ import annotations

from typing import Any

import pytest

from accounts import people
from authzsite.api.authzen.batch_decisions import ABOUT_OTHERS
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.models import AccessRecord, Change
from policies.services import duties, entities, members
from tests.cdap.world import BY, Caller, a_cdap, a_role, give

ENFORCE, VISIBLE = "/v1/execute/enforce", "/v1/execute/isVisible"
ORDERS = {"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}
UPLOAD = {
    "namespace": "ns1",
    "application": "app",
    "version": "-SNAPSHOT",
    "type": "Service",
    "program": "Upload",
    "entity": "PROGRAM",
}
NS1 = {"namespace": "ns1", "entity": "NAMESPACE"}
APP = {"namespace": "ns1", "application": "app", "version": "-SNAPSHOT", "entity": "APPLICATION"}


def texts(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    return str(answer.content.decode())


def enforcement(name: str = "alice", action: object = "READ", entity: object = ORDERS, **more: object) -> Any:
    return {"principal": {"name": name, "type": "USER"}, "entityId": entity, "action": action, **more}


@pytest.fixture
def alice(cdap: Node) -> Caller:
    return Caller("alice")


# one question

BYTES = (
    b'{"principal":{"name":"alice","type":"USER"},"entityId":{"namespace":"ns1","dataset":"orders",'
    b'"entity":"DATASET"},"action":"READ"}'
)
NO = (
    "Principal 'Principal{name='alice', type=USER, kerberosPrincipal=null}' is not authorized to perform "
    "%s on entity '%s'"
)


def test_the_clients_question_is_answered_by_its_status(cdap: Node, alice: Caller) -> None:
    assert texts(alice.send("POST", ENFORCE, BYTES), 403) == NO % ("action 'READ'", "dataset:ns1.orders")
    give(cdap, "dataset:ns1.ord*", "alice", "READ")
    answer = alice.send("POST", ENFORCE, BYTES)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("held", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_one_action_is_not_another(cdap: Node, alice: Caller, held: str) -> None:
    give(cdap, "dataset:ns1.orders", "alice", held)
    for asked in ("READ", "WRITE", "EXECUTE", "ADMIN"):
        assert alice.may("alice", asked, ORDERS) == (asked == held)


def test_all_that_is_lacking_is_told_together(cdap: Node, alice: Caller) -> None:
    give(cdap, "dataset:ns1.orders", "alice", "WRITE")
    asked = enforcement(action=None, actions=["READ", "WRITE", "ADMIN"])
    expected = NO % ("actions '[READ, ADMIN]'", "dataset:ns1.orders")
    assert texts(alice.send("POST", ENFORCE, asked), 403) == expected
    asked = enforcement(action=None, permissions=[{"type": "STANDARD", "name": "UPDATE"}])
    expected = NO % ("action 'ADMIN'", "dataset:ns1.orders")
    assert texts(alice.send("POST", ENFORCE, asked), 403) == expected
    give(cdap, "dataset:ns1.orders", "alice", "ADMIN")
    assert alice.send("POST", ENFORCE, asked).status_code == 200


@pytest.mark.seed("S1-045", "S1-213")
def test_in_43_nothing_comes_down(cdap: Node, alice: Caller) -> None:
    give(cdap, "namespace:ns1", "alice", "READ", "WRITE", "EXECUTE", "ADMIN")
    assert alice.may("alice", "ADMIN", NS1)
    for entity in (ORDERS, APP, UPLOAD):
        assert not alice.may("alice", "READ", entity)


def test_in_35_everything_comes_down(db: None) -> None:
    root = a_cdap("3.5")
    give(root, "instance:cdap", "alice", "READ")
    alice = Caller("alice")
    for entity in (NS1, ORDERS, APP, UPLOAD):
        assert alice.may("alice", "READ", entity)
        assert not alice.may("alice", "WRITE", entity)
    text = texts(alice.send("POST", ENFORCE, enforcement(action="ADMIN", entity=NS1)), 403)
    assert text.startswith("Principal 'Principal{name='alice', type=USER}' is not"), "no Kerberos before 4.0"


@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_all_is_everything_in_the_older_generations(db: None, policy: str) -> None:
    root = a_cdap(policy)
    entities.create(root, parse("namespace:ns1"), by=OPERATOR)
    give(root, "namespace:ns1", "alice", "ALL")
    for asked in ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL"):
        assert Caller("alice").may("alice", asked, NS1)
        assert not Caller("bob").may("bob", asked, NS1)


def test_programs_are_named_in_any_case_and_versions_ignored(cdap: Node, alice: Caller) -> None:
    give(cdap, "program:ns1.app.*", "alice", "EXECUTE")
    for type in ("Service", "SERVICE", "service"):
        assert alice.may("alice", "EXECUTE", {**UPLOAD, "type": type})
    assert not alice.may("alice", "EXECUTE", {**UPLOAD, "application": "APP"})


def test_a_group_is_asked_about_as_itself(cdap: Node) -> None:
    pdp = Caller("pdp", kind="service")
    give(cdap, "dataset:ns1.orders", "group:staff", "READ")
    assert pdp.may("staff", "READ", ORDERS, kind="GROUP")
    assert not pdp.may("staff", "READ", ORDERS), "a group is never the user of its name"
    members.join_group(people.ensure("group", "staff"), people.ensure("user", "kim"), **BY)
    assert pdp.may("kim", "READ", ORDERS)


def test_a_role_counts_through_who_holds_it(cdap: Node, alice: Caller) -> None:
    a_role(cdap, "readers", "alice")
    give(cdap, "dataset:ns1.orders", "role:readers", "READ")
    assert alice.may("alice", "READ", ORDERS)
    asked = enforcement() | {"principal": {"name": "readers", "type": "ROLE"}}
    assert "A role does nothing itself" in texts(alice.send("POST", ENFORCE, asked), 400)


BAD: list[tuple[Any, str]] = [
    (b"", "Missing request body"),
    (b"{", "is not JSON"),
    (b"[]", "must be a JSON object"),
    ({}, "Action is required"),
    (enforcement(action="FLY"), "`FLY` is no action here"),
    (enforcement(action="ALL"), "`ALL` is no action here"),
    (enforcement(action=7), "An action must be a text"),
    (enforcement(action=None), "Action is required"),
    (enforcement(action=None, actions=[]), "Action is required"),
    (enforcement(entity=None), "must be a JSON object"),
    (enforcement(entity="dataset:ns1.orders"), "must be a JSON object"),
    (enforcement(entity={"namespace": "ns1"}), "Expected entity in EntityId JSON"),
    (enforcement(entity={"namespace": "ns1", "entity": "VIEW"}), "does not support authorization"),
    (enforcement(entity={"namespace": "a\0", "entity": "NAMESPACE"}), "has no NUL"),
    (enforcement(entity={"instance": "other", "entity": "INSTANCE"}), "names nothing in cdap"),
    (enforcement(principal=None), "Principal is required"),
    (enforcement(principal={"name": "alice", "type": "ELF"}), "is no type of principal"),
    (enforcement(childEntityType="DATASET"), "children of an entity"),
]


@pytest.mark.parametrize(("body", "told"), BAD, ids=lambda value: repr(value)[:60])
def test_a_bad_question_is_told_in_text(alice: Caller, body: Any, told: str) -> None:
    assert told in texts(alice.send("POST", ENFORCE, body), 400)


def test_asking_makes_nobody_and_changes_nothing(cdap: Node) -> None:
    pdp, before = Caller("pdp", kind="service"), Change.objects.count()
    assert not pdp.may("nobody", "READ", ORDERS)
    assert people.find("user", "nobody") is None
    assert Change.objects.count() == before
    assert not AccessRecord.objects.filter(kind="refused").exists(), "nobody has heard of them"


# about whom


def test_about_others_ask_services_admins_and_who_reads_the_history(cdap: Node, settings: Any) -> None:
    give(cdap, "dataset:ns1.orders", "alice", "READ")
    bob = Caller("bob")
    for path, body in ((ENFORCE, enforcement()), (VISIBLE, visibility("alice", ORDERS))):
        text = texts(bob.send("POST", path, body), 403)
        assert text == ABOUT_OTHERS
        assert Caller("pdp", kind="service").send("POST", path, body).status_code == 200
    people.make_account("rita")
    duties.give(cdap, "view_history", people.ensure("user", "rita"), **BY)
    assert Caller("rita").send("POST", ENFORCE, enforcement()).status_code == 200
    of_service, record = AccessRecord.objects.filter(kind="looked").order_by("pk")
    assert (of_service.operation, of_service.via) == ("access of others", "cdap")
    assert (record.operation, record.via) == ("why READ", "cdap")
    settings.LAKEWARDEN_SERVICE_ADMINS = ("bob",)
    assert bob.send("POST", ENFORCE, enforcement()).status_code == 200


def test_a_refusal_is_one_record_of_whom_it_is_about(cdap: Node, alice: Caller) -> None:
    for _ in range(3):
        assert not alice.may("alice", "READ", ORDERS)
    record = AccessRecord.objects.get(kind="refused")
    assert (record.operation, record.object_name, record.via) == ("READ", "cdap/dataset:ns1.orders", "cdap")
    assert record.actor == people.ensure("user", "alice").pseudonym


def test_a_narrow_token_asks_if_it_may_check(cdap: Node) -> None:
    give(cdap, "dataset:ns1.orders", "alice", "READ")
    assert Caller("alice", "check").may("alice", "READ", ORDERS)
    text = texts(Caller("alice", "report").send("POST", ENFORCE, enforcement()), 403)
    assert text == "this token lacks the scope check"


# what exists for whom


def visibility(name: str, *entities: object) -> dict[str, Any]:
    return {"principal": {"name": name, "type": "USER"}, "entityIds": list(entities)}


def seen(caller: Caller, *entities: object) -> list[Any]:
    answer = caller.send("POST", VISIBLE, visibility(caller.name, *entities))
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "application/json"
    body: list[Any] = answer.json()
    return body


@pytest.mark.seed("S1-038")
@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_any_privilege_on_it_or_below_makes_it_seen_in_43(cdap: Node, alice: Caller, action: str) -> None:
    every = [NS1, APP, UPLOAD, ORDERS]
    assert seen(alice, *every) == []
    give(cdap, "program:ns1.app.service.Up*", "alice", action)
    assert seen(alice, *every) == [NS1, APP, UPLOAD]
    assert seen(alice, *reversed(every)) == [UPLOAD, APP, NS1], "each as it was sent, in that order"
    give(cdap, "namespace:ns2", "bob", action)
    assert seen(Caller("bob"), *every, {"namespace": "ns2", "entity": "NAMESPACE"}) == [
        {"namespace": "ns2", "entity": "NAMESPACE"}
    ]


def test_in_35_what_is_above_makes_it_seen(db: None) -> None:
    root = a_cdap("3.5")
    for text in ("namespace:ns1", "dataset:ns1.orders"):
        entities.create(root, parse(text), by=OPERATOR)
    give(root, "dataset:ns1.orders", "alice", "READ")
    give(root, "namespace:ns1", "bob", "READ")
    assert seen(Caller("alice"), NS1, ORDERS) == [ORDERS]
    assert seen(Caller("bob"), NS1, ORDERS) == [NS1, ORDERS]


def test_five_hundred_in_one_call_cost_what_one_costs(
    cdap: Node, alice: Caller, django_assert_max_num_queries: Any
) -> None:
    give(cdap, "dataset:ns1.d?", "alice", "READ")
    every = [{"namespace": "ns1", "dataset": f"d{at}", "entity": "DATASET"} for at in range(500)]
    seen(alice, ORDERS)
    with django_assert_max_num_queries(12):
        assert seen(alice, *every) == every[:10]


BAD_LISTS: list[tuple[Any, str]] = [
    ({}, "entityIds must be a list"),
    ({"entityIds": {}}, "entityIds must be a list"),
    ({"entityIds": []}, "Principal is required"),
    (visibility("alice", ORDERS, None), "must be a JSON object"),
    (visibility("alice", {"namespace": "ns1"}), "Expected entity"),
    (b"null", "Missing request body"),
]


@pytest.mark.parametrize(("body", "told"), BAD_LISTS, ids=lambda value: repr(value)[:60])
def test_a_bad_list_is_told_in_text(alice: Caller, body: Any, told: str) -> None:
    assert told in texts(alice.send("POST", VISIBLE, body), 400)


# the switches


@pytest.mark.seed("S1-017")
def test_authorization_off_allows_and_shows_everything(db: None) -> None:
    a_cdap(mode="off")
    bob = Caller("bob")
    assert bob.may("bob", "ADMIN", ORDERS)
    assert seen(bob, NS1, ORDERS) == [NS1, ORDERS]
