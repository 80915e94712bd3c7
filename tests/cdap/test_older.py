"""The interface over generations 3.4 and 3.5: who may grant there, what must exist, and the older forms."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.models import Change
from policies.services import entities
from tests.cdap.test_rest import empty, listed, texts
from tests.cdap.world import BASE, Caller, a_cdap, give

ALICE = {"name": "alice", "type": "USER"}
NS1 = {"namespace": "ns1", "entity": "NAMESPACE"}
ORDERS = {"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}
FIVE = ["READ", "WRITE", "EXECUTE", "ADMIN", "ALL"]


@pytest.fixture(params=["3.4", "3.5"])
def older(request: pytest.FixtureRequest, db: None) -> Node:
    root = a_cdap(request.param)
    for text in ("namespace:ns1", "dataset:ns1.orders", "application:ns1.app", "program:ns1.app.flow.Clean"):
        entities.create(root, parse(text), by=OPERATOR)
    return root


def body(entity: dict[str, str] = ORDERS, *actions: str, **more: Any) -> dict[str, Any]:
    return {"entity": entity, "principal": ALICE, **({"actions": list(actions)} if actions else {}), **more}


def test_lists_are_in_the_form_of_the_time(older: Node) -> None:
    admin = Caller("admin")
    program = {
        "namespace": "ns1",
        "application": "app",
        "type": "Flow",
        "program": "Clean",
        "entity": "PROGRAM",
    }
    empty(admin.change("grant", body(ORDERS, "READ")))
    empty(admin.change("grant", body(program, "EXECUTE")))
    assert listed(admin, "user", "alice") == [
        {"entity": ORDERS, "action": "READ"},
        {"entity": program, "action": "EXECUTE"},
    ]


@pytest.mark.seed("S0-094")
def test_missing_actions_are_all_five(older: Node) -> None:
    admin = Caller("admin")
    empty(admin.change("grant", body()))
    assert [item["action"] for item in listed(admin, "user", "alice")] == FIVE
    empty(admin.change("revoke", body()))
    assert listed(admin, "user", "alice") == []


def test_what_is_not_there_is_not_given_on(older: Node) -> None:
    before = Change.objects.count()
    for absent in ({**ORDERS, "dataset": "gone"}, {**ORDERS, "dataset": "*"}):
        for verb in ("grant", "revoke"):
            text = texts(Caller("admin").change(verb, body(absent)), 404)
            assert text == f"'dataset:ns1.{absent['dataset']}' was not found."
    assert Change.objects.count() == before


@pytest.mark.seed("S2-070")
@pytest.mark.parametrize("action", FIVE)
def test_who_may_administer_an_entity_grants_on_it(older: Node, action: str) -> None:
    give(older, "dataset:ns1.orders", "bob", action)
    bob, allowed = Caller("bob"), action in ("ADMIN", "ALL")
    for verb in ("grant", "revoke"):
        answer = bob.change(verb, body(ORDERS, "READ"))
        if allowed:
            empty(answer)
        else:
            assert texts(answer, 403) == (
                "Principal 'Principal{name='bob', type=USER}' is not authorized to perform action 'ADMIN' "
                "on entity 'dataset:ns1.orders'"
            )
        texts(bob.change(verb, body(NS1, "READ")), 403)


def test_only_in_35_a_right_above_is_enough(older: Node) -> None:
    give(older, "namespace:ns1", "bob", "ADMIN")
    answer = Caller("bob").change("grant", body(ORDERS, "READ"))
    assert answer.status_code == (200 if older.kind == "cdap35" else 403)


@pytest.mark.seed("S2-069")
def test_being_let_in_gives_no_right_to_grant_or_to_roles(older: Node) -> None:
    give(older, "dataset:ns1.orders", "bob", "READ", "WRITE", "EXECUTE")
    bob = Caller("bob")
    for verb, path in (
        ("GET", "roles"),
        ("PUT", "roles/r"),
        ("DELETE", "roles/r"),
        ("PUT", "user/bob/roles/r"),
    ):
        texts(bob.send(verb, f"{BASE}/{path}"), 403)
    texts(bob.change("grant", body(ORDERS, "READ")), 403)


def test_others_privileges_are_shown_on_what_one_may_grant(older: Node) -> None:
    give(older, "dataset:ns1.orders", "alice", "READ")
    give(older, "application:ns1.app", "alice", "READ")
    texts(Caller("bob").listed("user", "alice"), 403)
    give(older, "dataset:ns1.orders", "bob", "ADMIN")
    assert listed(Caller("bob"), "user", "alice") == [{"entity": ORDERS, "action": "READ"}]


def test_roles_are_named_as_before_kerberos(older: Node) -> None:
    admin = Caller("admin")
    empty(admin.send("PUT", f"{BASE}/roles/admins"))
    assert texts(admin.send("PUT", f"{BASE}/roles/admins"), 409) == (
        "Principal{name='admins', type=ROLE} already exists."
    )
    empty(admin.send("DELETE", f"{BASE}/roles/admins"))
    assert texts(admin.send("DELETE", f"{BASE}/roles/admins"), 404) == (
        "Principal{name='admins', type=ROLE} not found."
    )
