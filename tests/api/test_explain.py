"""One decision as a tree, for those who may ask."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from policies.models import AccessRecord
from tests.api.world import Caller, Shop, token

EXPLAIN, ORDERS = "/authz/v1/explain", "demo/shop.sales.orders"


def ask(caller: Caller, **asked: str) -> Any:
    response = caller.get(f"{EXPLAIN}?{urlencode({'action': 'read', 'resource': ORDERS, **asked})}")
    assert response.status_code == 200, response.content
    return response.json()


def leaves(tree: dict[str, Any]) -> list[dict[str, Any]]:
    children = tree.get("children", [])
    return [leaf for child in children for leaf in leaves(child)] if children else [tree]


def test_a_yes_names_the_rules_it_rests_on(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    answer = ask(ana, principal="user:ana")
    assert (answer["decision"], answer["reason"], answer["operation"]) == (True, "allowed", "Table.loadTable")
    assert answer["resource"] == {"type": "table", "id": ORDERS}
    assert answer["tree"]["holds"] is True
    given = {(item["privilege"], item["object"]["id"]) for item in answer["because"]}
    assert given == {
        ("USE_CATALOG", "demo/shop"),
        ("USE_SCHEMA", "demo/shop.sales"),
        ("SELECT_TABLE", "demo/shop.sales"),
    }
    assert all(item["via"] == [{"kind": "role", "name": "readers"}] for item in answer["because"])
    assert "missing" not in answer


def test_a_no_names_what_is_lacking_and_the_other_ways(shop: Shop, ana: Caller) -> None:
    answer = ask(ana)
    assert (answer["principal"], answer["decision"], answer["reason"]) == ("user:ana", False, "missing")
    [lack] = answer["missing"]
    assert (lack["privilege"], lack["object"]["id"]) == ("SELECT_TABLE", ORDERS)
    assert answer["alternatives"]
    assert answer["request_url"].startswith("http")
    assert {leaf["holds"] for leaf in leaves(answer["tree"])} == {True, False}
    shop.allow(shop.sales, "SELECT_TABLE")
    shop.allow(shop.tables["orders"], "SELECT_TABLE", effect="deny")
    hidden = ask(ana)
    assert (hidden["decision"], hidden["tree"]) == (False, {"holds": False, "kind": "unknown"})


def test_a_denial_is_named_where_the_object_may_be_known(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE", "MODIFY_TABLE")
    shop.allow(shop.tables["orders"], "MODIFY_TABLE", effect="deny")
    answer = ask(ana, action="write")
    assert (answer["decision"], answer["reason"]) == (False, "denied")
    assert any(leaf.get("denied") for leaf in leaves(answer["tree"]))


def test_the_decision_is_the_one_of_a_check(shop: Shop, etl: Caller) -> None:
    shop.allow(shop.tables["orders"], "MODIFY_TABLE")
    for who in ("user:marek", "user:olivia", "user:ana", "user:nobody", "group:crew"):
        for action in ("read", "write", "fly", "Table.dropTable"):
            explained = ask(etl, principal=who, action=action)
            checked = etl.decide(who, action, f"table:{ORDERS}")
            assert explained["decision"] == checked["decision"]
            assert checked["context"].items() <= explained.items()


def test_what_is_hidden_reads_like_what_is_not_there(shop: Shop, ana: Caller) -> None:
    hidden = ask(ana, resource="table:demo/shop.secret.plans")
    absent = ask(ana, resource="table:demo/shop.secrex.plans")
    texts = [str(item).replace("secrex", "secret") for item in (hidden, absent)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("resource", ["nothing", "demo/a.b.c.d.e.f", "/", "demo/", "x:y", "\0"])
def test_whatever_is_asked_is_answered(shop: Shop, ana: Caller, resource: str) -> None:
    assert ask(ana, resource=resource)["decision"] is False


def test_who_may_ask_is_as_for_a_check(shop: Shop, ana: Caller, ada: Caller, etl: Caller) -> None:
    path = f"{EXPLAIN}?principal=user:marek&action=read&resource={ORDERS}"
    assert ana.get(path).status_code == 403
    assert ada.get(path).status_code == etl.get(path).status_code == 200
    looks = AccessRecord.objects.filter(kind="looked").order_by("pk").values_list("operation", flat=True)
    assert list(looks) == ["why Table.loadTable", "access of others"]
    assert not AccessRecord.objects.filter(kind="refused").exists()
    assert Caller(token("user", "marek", "report")).get(path).status_code == 403
    assert Caller().get(path).status_code == 401


@pytest.mark.parametrize("asked", ["", "action=read", f"resource={ORDERS}"])
def test_what_is_missing_is_told(ana: Caller, asked: str) -> None:
    response = ana.get(f"{EXPLAIN}?{asked}")
    assert response.status_code == 400
    assert "is missing" in response.json()["detail"]
