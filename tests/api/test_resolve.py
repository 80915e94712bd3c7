"""Names and places to objects, as far as the asker may know of them."""

from __future__ import annotations

from typing import Any

import pytest

from policies.services import objects
from policies.services.objects import NewObject
from tests.api.world import BY, Caller, Shop, token
from tests.factories import describe

RESOLVE = "/authz/v1/resolve"
UNKNOWN = "unknown"


def resolve(caller: Caller, realm: str = "demo", **asked: Any) -> Any:
    response = caller.send(RESOLVE, {"realm": realm, **asked})
    assert response.status_code == 200, response.content
    return response.json()


def the(type_: str, name: str) -> dict[str, str]:
    return {"type": type_, "id": f"demo/{name}" if name else "demo"}


def test_names_are_read_in_every_spelling(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE", "SELECT_VIEW")
    objects.register(shop.sales, [NewObject("view", "orders"), NewObject("view", "top")], **BY)
    names = {
        "shop.sales.orders": the("table", "shop.sales.orders"),
        "demo/shop.sales.orders": the("table", "shop.sales.orders"),
        "view:shop.sales.orders": the("view", "shop.sales.orders"),
        "shop.sales.top": the("view", "shop.sales.top"),
        'shop.sales."odd.name"': the("table", 'shop.sales."odd.name"'),
        "shop.sales": the("schema", "shop.sales"),
        "shop": the("catalog", "shop"),
        "demo": the("metalake", ""),
        "shop.sales.nothing": UNKNOWN,
        "shop.secret.plans": UNKNOWN,
        "shop.secret": UNKNOWN,
        "planet:x": UNKNOWN,
        "a..b": UNKNOWN,
        "": UNKNOWN,
        "\0": UNKNOWN,
        "x" * 5000: UNKNOWN,
    }
    assert resolve(ana, names=list(names)) == {"names": names, "locations": {}}


def test_places_lead_to_what_one_may_know_of(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    for name in ("orders", "plans"):
        content = {"properties": {"location": f"s3a://lake/{name}"}}
        describe(shop.tables[name].id, content)
    places = {
        "s3://lake/orders/day=1": the("table", "shop.sales.orders"),
        "s3://lake/plans": UNKNOWN,
        "s3://lake/nothing": UNKNOWN,
        "\0": UNKNOWN,
        "": UNKNOWN,
    }
    assert resolve(ana, locations=list(places)) == {"names": {}, "locations": places}
    assert resolve(Caller(token("user", "marek")), locations=["s3://lake/plans"])["locations"] == {
        "s3://lake/plans": the("table", "shop.secret.plans")
    }


def test_a_realm_that_is_none_and_one_that_is_closed_answer_alike(shop: Shop) -> None:
    stranger = Caller(token("user", "stranger"))
    asked = {"names": ["shop.sales.orders", "shop"], "locations": ["s3://lake/orders"]}
    assert resolve(stranger, **asked) == resolve(stranger, realm="absent", **asked)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        [],
        {},
        {"realm": 3},
        {"realm": "demo", "names": "shop"},
        {"realm": "demo", "names": [3]},
        {"realm": "demo", "locations": {"a": "b"}},
        {"realm": "demo", "names": ["x"] * 1001},
    ],
    ids=repr,
)
def test_garbage_is_told(shop: Shop, ana: Caller, body: object) -> None:
    response = ana.send(RESOLVE, body)
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")


def test_who_may_not_ask(shop: Shop) -> None:
    body = {"realm": "demo", "names": ["shop"]}
    assert Caller().send(RESOLVE, body).status_code == 401
    assert Caller(token("user", "ana", "report")).send(RESOLVE, body).status_code == 403
