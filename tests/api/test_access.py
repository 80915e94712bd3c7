"""Who has access, and what somebody reaches, for those who may know."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from accounts import people
from policies.models import AccessRecord, Counter
from policies.services import duties, members, roles
from tests.api.world import BY, Caller, Shop, token, user

ACCESS, ORDERS = "/authz/v1/access", "demo/shop.sales.orders"


@pytest.fixture
def marek(shop: Shop) -> Caller:
    return Caller(token("user", "marek"))


def ask(caller: Caller, **asked: str) -> Any:
    response = caller.get(f"{ACCESS}?{urlencode(asked)}")
    assert response.status_code == 200, response.content
    return response.json()


def actions(caller: Caller, **asked: str) -> dict[str, list[str]]:
    """By person, or by object."""
    rows = ask(caller, **asked)["results"]
    return {row.get("principal") or row["resource"]["id"]: row["actions"] for row in rows}


def test_everybody_with_access_comes_with_the_way(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    crew = people.ensure("group", "crew")
    members.join_group(crew, user("bob"), **BY)
    members.add(shop.realm, crew, **BY)
    roles.assign(shop.readers, crew, **BY)
    actions_ = actions(marek, resource=ORDERS)
    assert actions_ == {
        "user:marek": ["read", "write", "alter", "drop", "grant", "set_owner"],
        "user:ana": ["read"],
        "user:bob": ["read"],
    }
    [bob] = [row for row in ask(marek, resource=ORDERS)["results"] if row["principal"] == "user:bob"]
    [path] = bob["paths"]
    assert path["via"] == [{"kind": "group", "name": "crew"}, {"kind": "role", "name": "readers"}]
    assert (path["privilege"], path["allow"], path["direct"]) == ("SELECT_TABLE", True, False)
    assert path["object"] == {"type": "schema", "id": "demo/shop.sales"}


def test_access_as_it_was(shop: Shop, marek: Caller, ana: Caller) -> None:
    before = Counter.objects.get().revision
    shop.allow(shop.sales, "SELECT_TABLE")
    assert "user:ana" in actions(marek, resource=ORDERS)
    assert "user:ana" not in actions(marek, resource=ORDERS, as_of=str(before))
    assert ORDERS in actions(ana, principal="user:ana", realm="demo")
    assert ORDERS not in actions(ana, principal="user:ana", realm="demo", as_of=str(before))


def test_what_somebody_reaches_is_what_is_decided(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    shop.allow(shop.tables["items"], "SELECT_TABLE", effect="deny")
    shop.allow(shop.secret, "SELECT_TABLE")
    actions_ = actions(ana, principal="user:ana", realm="demo")
    assert actions_[ORDERS] == ["read"]
    assert "demo/shop.sales.items" not in actions_
    assert "demo/shop.secret.plans" not in actions_, "its schema may not be used"
    for node in (shop.catalog, shop.sales, *shop.tables.values()):
        for action in ("read", "use", "write"):
            decided = ana.decide("user:ana", action, f"{node.type}:{node.ref.id}")["decision"]
            assert (action in actions_.get(node.ref.id, [])) == decided, (node.ref.id, action)


def test_pages_are_the_whole(shop: Shop, marek: Caller, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    for caller, asked in ((marek, {"resource": ORDERS}), (ana, {"principal": "user:ana", "realm": "demo"})):
        whole = ask(caller, **asked)["results"]
        items, cursor = [], ""
        while cursor is not None:
            page = ask(caller, **asked, limit="1", cursor=cursor)
            assert len(page["results"]) == 1
            items += page["results"]
            cursor = page["next"]
        assert items == whole
        assert len(whole) > 1


def test_who_may_know(shop: Shop, ana: Caller, ada: Caller, etl: Caller, marek: Caller) -> None:
    path = f"{ACCESS}?resource={ORDERS}"
    statuses = [caller.get(path).status_code for caller in (ana, etl, ada, marek)]
    assert statuses == [403, 403, 200, 200]
    assert ana.get(f"{ACCESS}?resource=demo/nothing").status_code == 403
    people.make_account("bob")
    duties.give(shop.tables["orders"], "review_access", user("bob"), **BY)
    bob = Caller(token("user", "bob"))
    assert bob.get(path).status_code == 200
    assert bob.get(f"{ACCESS}?resource=demo/shop.sales.items").status_code == 403
    assert AccessRecord.objects.filter(kind="looked", operation="access").count() == 3
    assert Caller().get(path).status_code == 401
    assert Caller(token("user", "marek", "report")).get(path).status_code == 403


def test_of_others_one_sees_what_one_looks_after(shop: Shop, ana: Caller, ada: Caller, marek: Caller) -> None:
    asked = {"principal": "user:marek", "realm": "demo"}
    assert ana.get(f"{ACCESS}?{urlencode(asked)}").status_code == 403
    mine, shown = actions(marek, **asked), actions(ada, **asked)
    assert {"demo", "demo/shop", ORDERS, "demo/shop.secret.plans"} <= mine.keys()
    assert shown.keys() == {place for place in mine if place.startswith("demo/shop.sales")}
    assert actions(marek, principal="user:nobody", realm="demo") == {}


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "principal=user:marek",
        "principal=user:marek&realm=demo&resource=demo",
        f"resource={ORDERS}&as_of=x",
        f"resource={ORDERS}&limit=0",
        f"resource={ORDERS}&cursor=x",
    ],
)
def test_a_broken_question_is_400(marek: Caller, asked: str) -> None:
    response = marek.get(f"{ACCESS}?{asked}")
    assert response.status_code == 400
    assert response.headers["Content-Type"] == "application/problem+json"
