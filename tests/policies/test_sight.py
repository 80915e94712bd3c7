"""Who sees how much of the record and of others' access, and whose words they are."""

from __future__ import annotations

from accounts import people
from catalog.nodes import Node
from policies.decisions import ask, facts
from policies.decisions.lookups.access import AccessMap
from policies.models import Counter
from policies.record import history
from policies.services import members, realm_of
from tests.factories import AUTHORITY, BY, a_person, a_role, admit, owned, the, under


def sees(name: str, root: Node, place: Node) -> bool:
    return history.sight(people.ensure("user", name), [root]).sees(place)


def test_who_may_grant_sees_the_history_and_who_is_denied_it_does_not(shop: Node) -> None:
    sales, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    a_role(shop, "granting", "allow MANAGE_GRANTS on schema shop.sales", held_by=("ana", "carl"))
    a_role(shop, "not_granting", "deny MANAGE_GRANTS on catalog shop", held_by=("carl",))
    for name, may in (("ana", True), ("carl", False), ("olivia", True), ("mia", False)):
        assert bool(ask.ask(people.ensure("user", name), "grant", sales)) is may
        assert sees(name, shop, orders) is may, name


def test_who_is_in_an_owning_group_but_not_in_the_realm_sees_nothing(shop: Node) -> None:
    owned(the("table", "shop.sales.orders"), "group:analysts")
    a_person("outsider", "analysts")
    assert sees("mia", shop, the("table", "shop.sales.orders"))
    assert not sees("outsider", shop, the("table", "shop.sales.orders"))


def test_a_role_whose_name_is_a_word_of_the_record_keeps_its_name(shop: Node) -> None:
    a_role(shop, "operator", held_by=("ana",))
    page = history.page(history.Filter(), history.sight(people.ensure("user", "marek"), [shop]))
    texts = [line.text for entry in page.entries for line in entry.lines]
    assert "assigned role operator to ana" in texts
    assert not [text for text in texts if "site's" in text]


def test_facts_of_the_past_bear_the_number_of_the_past(shop: Node) -> None:
    then, ana = Counter.objects.get().revision, people.ensure("user", "ana")
    members.remove(shop, ana, by=BY, authority=AUTHORITY)
    past = facts.load(realm_of(shop), shop.realm, [ana.pk], as_of=then)
    assert (past.revision, past.slice_of(ana).member) == (then, True)
    assert facts.load(realm_of(shop), shop.realm, [ana.pk]).revision == Counter.objects.get().revision


def test_people_who_are_alike_are_decided_once_but_each_for_themselves(shop: Node) -> None:
    admit(shop, "zoe")
    a_person("zoe", "staff", "analysts")
    access = AccessMap(the("table", "shop.sales.orders"))
    for name in ("zoe", "mia", "zoe"):
        row = people.ensure("user", name)
        assert access.access_of(row).slice.principal == row.ref


def test_a_page_of_the_record_holds_some_lines_of_each_change_and_leaves_nothing_out(shop: Node) -> None:
    for size in (3, 25, 4, 1):
        under(the("schema", "shop.stock"), "table", *(f"t{size}_{at}" for at in range(size)))
    seen, asked = (
        history.sight(people.ensure("user", "marek"), [shop]),
        history.Filter(kinds=("object.registered",)),
    )
    whole = history.page(asked, seen, limit=500)
    paged, before = [], None
    while True:
        page = history.page(asked, seen, limit=500, lines=5, before=before)
        paged += page.entries
        assert sum(len(entry.lines) for entry in page.entries) <= 10
        if page.next is None:
            break
        before = page.next
    assert [item.change.revision for item in paged] == [entry.change.revision for entry in whole.entries]
    assert [len(item.lines) + item.more for item in paged] == [len(entry.lines) for entry in whole.entries]
    assert max(len(item.lines) for item in paged) == 5
    assert not any(entry.more for entry in whole.entries)
