"""Who is comparable to whom, and how many of them have the same."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import people
from catalog.nodes import Node
from policies.decisions.lookups import peers
from policies.decisions.lookups.peers import Question, Share
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, a_role, acting, admit, the


def of(name: str, root: Node) -> set[str]:
    return {item.name for item in peers.of(people.ensure("user", name), root)}


def test_a_group_or_a_made_role_makes_people_comparable(shop: Node) -> None:
    admit(shop, "ines", "tom", "nora")
    a_role(shop, "night", held_by=("ines", "tom"))
    assert of("mia", shop) == {"carl", "olivia", "ana"}  # staff, and analysts
    assert of("ines", shop) == {"tom"}
    assert of("nora", shop) == set()


def test_a_direct_grant_makes_nobody_comparable(shop: Node) -> None:
    admit(shop, "ines", "tom")
    for name in ("ines", "tom"):
        wish = GrantRequest(the("schema", "shop.sales"), (people.ensure("user", name),), ("USE_SCHEMA",))
        grants.add(wish, by=acting("marek"))
    assert of("ines", shop) == set()


@pytest.mark.parametrize(
    ("name", "privileges", "expected"),
    [
        ("ana", ("SELECT_TABLE",), Share(3, 3)),  # mia and carl as analysts, olivia owns the schema
        ("ana", ("MODIFY_TABLE",), Share(1, 3)),  # olivia alone
        ("mia", ("MODIFY_TABLE",), Share(2, 3)),  # ana directly, olivia as the owner
    ],
)
def test_how_many_of_them_have_it(
    shop: Node, name: str, privileges: tuple[str, ...], expected: Share
) -> None:
    orders = the("table", "shop.sales.orders")
    if name == "mia":
        ana = people.ensure("user", "ana")
        grants.add(GrantRequest(orders, (ana,), ("MODIFY_TABLE",)), by=acting("olivia"))
    assert peers.share(people.ensure("user", name), shop, orders, privileges) == expected


def test_many_questions_are_one_query(shop: Node) -> None:
    orders, mia = the("table", "shop.sales.orders"), people.ensure("user", "mia")
    asked = [
        Question(mia.pk, orders.lineage, ("SELECT_TABLE",)),
        Question(10**9, orders.lineage, ("X",)),
    ] * 50
    with CaptureQueriesContext(
        connection,
    ) as queries:
        shares = peers.shares(asked, shop.realm_id)
    assert len(queries) == 1
    assert (shares[0], shares[1], len(shares)) == (Share(2, 3), Share(0, 0), 100)


def test_only_so_many_are_looked_at_those_of_small_circles_first(
    shop: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "MOST", 1)
    assert of("mia", shop) == {"carl"}  # of the analysts, who are fewer than the staff
    monkeypatch.setattr(peers, "LARGEST", 1)
    assert of("mia", shop) == set()


def test_somebody_in_no_realm_of_this_has_no_share(shop: Node) -> None:
    stranger = a_person("stranger")
    assert peers.share(stranger, shop, the("table", "shop.sales.orders"), ("SELECT_TABLE",)) == Share(0, 0)
