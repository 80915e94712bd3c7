"""What a page of a person tells, read by page and decided by group, is what reading everything would tell."""

from __future__ import annotations

import pytest

from accounts.people import ensure
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.people import reach_pages
from authzsite.console.people.reach import FILTERS, PersonReach, ReachFilter
from authzsite.console.people.reach_pages import PagedReach
from catalog.nodes import Node
from catalog.past import nodes_at
from policies.record import revisions
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, a_role, acting, owned, the, under
from tests.kept import kept

TEXTS = ("", "or", "shop.sales", "sales.ord", "ORD", "zzz", "%", "100%_", "\0")


def make_busy(shop: Node) -> Node:
    """Ana owns some tables, was given others, is denied one, and a grant on the stock leads nowhere."""
    tables = under(the("schema", "shop.sales"), "table", *(f"t_{at}" for at in range(7)), "100%_sure")
    for table in tables[:4]:
        owned(table, "ana")
    grants.add(GrantRequest(tables[4], (a_person("ana"),), ("MODIFY_TABLE",)), by=acting("olivia"))
    a_role(shop, "mixed", "deny SELECT_TABLE on table shop.sales.t_1", held_by=("ana",))
    a_role(shop, "lost", "allow SELECT_TABLE on table shop.stock.items", held_by=("ana",))
    return shop


busy = kept(make_busy, on="shop")


def walked(viewer: str, person: str, text: str, how: str) -> list[int]:
    """The objects of all pages, one after another."""
    after, ids = 0, list[int]()
    while True:
        page = reach(PagedReach, viewer, person, ReachFilter(text=text, how=how, after=after))
        ids += [item.node.id for item in page.page]
        if not page.next:
            assert page.fitting == len(ids)
            return ids
        after = page.next


def reach(kind: type[PersonReach], viewer: str, person: str, asked: ReachFilter) -> PersonReach:
    return kind(VisiblePrincipals(ensure("user", viewer)), ensure("user", person), asked)


@pytest.mark.parametrize("viewer", ["ana", "marek", "olivia", "mia"])
def test_pages_tell_the_same_as_everything_together(
    viewer: str, busy: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach_pages, "SHOWN", 3)
    whole = reach(PersonReach, viewer, "ana", ReachFilter())
    paged = reach(PagedReach, viewer, "ana", ReachFilter())
    for how, _ in FILTERS:
        fitting = {item.node.id for item in whole.all if how in item.fits}
        assert paged.counts[how] == len(fitting), how
        assert set(walked(viewer, "ana", "", how)) == fitting, how
    reached_items = {item.node.id: (item.can, item.refused, item.words) for item in whole.all}
    for item in paged.page:
        assert (item.can, item.refused, item.words) == reached_items[item.node.id]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_looked_for_in_the_name_and_in_what_is_above(
    text: str, busy: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach_pages, "SHOWN", 3)
    ids = walked("ana", "ana", text, "")
    assert len(ids) == len(set(ids))
    every = reach(PersonReach, "ana", "ana", ReachFilter()).all
    assert set(ids) == {item.node.id for item in every if text.casefold() in item.node.ref.id.casefold()}


def test_a_file_holds_what_the_pages_hold_and_says_the_same(
    busy: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach_pages, "SHOWN", 3)
    monkeypatch.setattr(reach_pages, "PIECE", 2)
    for asked in (ReachFilter(), ReachFilter(how="owned"), ReachFilter(text="t_"), ReachFilter(text="zzz")):
        whole = list(reach(PagedReach, "marek", "ana", asked).whole())
        assert [item.node.id for item, _ in whole] == walked("marek", "ana", asked.text, asked.how)
    rules_by_name = {
        item.node.name: rules for item, rules in reach(PagedReach, "ana", "ana", ReachFilter()).whole()
    }
    assert {rule.privilege for rule in rules_by_name["t_1"]} == {"OWNER", "SELECT_TABLE"}


def test_the_path_to_something_of_use_is_drawn_unless_another_is_asked_for(busy: Node) -> None:
    lost = the("table", "shop.stock.items")
    picked = reach(PagedReach, "ana", "ana", ReachFilter()).picked
    assert picked is not None and picked.can
    asked = reach(PagedReach, "ana", "ana", ReachFilter(pick=lost.id)).picked
    assert asked is not None and asked.node == lost


def test_the_past_of_more_objects_than_a_statement_takes_values_for(shop: Node) -> None:
    orders = the("table", "shop.sales.orders")
    many = range(10**9, 10**9 + 70_000)
    assert set(nodes_at([orders.id, *many], revisions.latest().revision)) == {orders.id}
