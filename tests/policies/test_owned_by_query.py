"""What somebody owns is found by the database itself, where it is very much: the same as by the facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from catalog import nodes as catalog_nodes
from catalog.models import Placement
from catalog.nodes import Node, any_along, on_or_below
from policies.decisions import ownership, slices
from policies.decisions.lookups import counts, visible_objects
from policies.decisions.lookups.reach import Named, rule_sets
from policies.decisions.ownership import OwnershipFilter
from policies.models import Event
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, a_role, acting, admit, owned, the, under
from tests.kept import kept
from tests.policies.conftest import make_shop

OWNED = ("orders", "returns", "a_table", "b_table")


def make_owner() -> Node:
    """Olivia owns schema sales and four tables elsewhere, one of them granted to Olivia to read, too."""
    root = make_shop()
    stock = the("schema", "shop.stock")
    for node in under(stock, "table", *OWNED):
        owned(node, "olivia")
    owned(under(stock, "view", "a_view")[0], "group:analysts")
    admit(root, "olga")
    owned(under(the("schema", "shop.sales"), "table", "olgas")[0], "olga")
    grants.add(
        GrantRequest(the("table", "shop.stock.orders"), (a_person("olivia"),), ("SELECT_TABLE",)),
        by=acting("marek"),
    )
    a_role(root, "more", "deny SELECT_TABLE on table shop.stock.returns", held_by=("olivia",))
    a_person("olivia", "analysts")
    return root


root = kept(make_owner)


def told(root: Node, who: str) -> dict[str, Any]:
    """All that is asked about what somebody owns."""
    now, person = timezone.now(), a_person(who)
    mine = visible_objects.owned_by(person, root)
    slice_ = slices.current(person, root, now=now)
    named = Named([rule_sets(slice_, root.realm_id)], ("metalake", "catalog", "schema"))
    seen = Named(named.said, named.alone, {the("schema", "shop.stock").id})
    return {
        "owned": sorted(mine),
        "below": sorted(
            Placement.objects.open().filter(on_or_below(mine)).values_list("securable", flat=True)
        ),
        "events": Event.objects.filter(any_along("object_key", "lineage", mine)).count(),
        "people": counts.people(mine, at=(now,)),
        "groups": sorted((item.group[1:], item.first, item.many, item.deep) for item in named.alike),
        "page": named.page(""),
        "walked": list(walked(named)),
        "seen": seen.page(""),
        "by group": sorted((item.group[1:], sorted(named.page("", [item.group]))) for item in named.alike),
        "text": (named.count("order"), named.page("order")),
        "picked": [named.picked(pick, []) for pick in (0, the("table", "shop.stock.returns").id, 987654321)],
        "usable": [
            named.picked(0, [group.group]) for group in sorted(named.alike, key=lambda like: like.first)
        ],
        "places": [row.pk for row in ownership.places(OwnershipFilter(root, owner=person), mine)],
    }


def walked(named: Named) -> Iterator[int]:
    """Page by page, of one object each."""
    after = 0
    while page := named.page("", after=after, most=1):
        [after] = page
        yield after


@pytest.mark.parametrize("who", ["olivia", "olga", "marek", "ana"])
def test_it_is_the_same_however_it_is_found(who: str, root: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    few = told(root, who)
    for module in (visible_objects, catalog_nodes):
        monkeypatch.setattr(module, "FEW", 0)
    assert bool(visible_objects.owned_by(a_person(who), root).rows) == (who != "ana")
    assert told(root, who) == few
    assert (who == "ana") == (not few["owned"])


def test_what_is_owned_in_another_realm_is_not_found(root: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.factories import a_metalake

    a_metalake("other", owner="olivia")
    monkeypatch.setattr(visible_objects, "FEW", 0)
    mine = visible_objects.owned_by(a_person("olivia"), root)
    assert not mine.rows
    assert the("table", "shop.stock.orders").id in mine
    assert the("schema", "shop.sales").id in mine
    assert len(mine) == 6
