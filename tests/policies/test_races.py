"""What happens when something else happens meanwhile: before a write, or while the record is read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.db import connections

from accounts import people
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from policies.decisions import ask, slices
from policies.errors import NotFound, PolicyError
from policies.models import Change, Counter
from policies.record import change, verify
from policies.services import grants, members, objects, owners, roles
from policies.services.grants import GrantRequest
from policies.services.objects import NewObject
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_role, acting, the, under
from tests.policies.conftest import make_shop

ANA = ("user", "ana")
LATE: dict[str, Callable[[Node, Node], object]] = {
    "register": lambda sales, role: objects.register(
        sales, [NewObject("table", "late")], by=BY, authority=AUTHORITY
    ),
    "own": lambda sales, role: owners.set_owner(sales, people.ensure(*ANA), by=BY, authority=AUTHORITY),
    "allow": lambda sales, role: roles.add_privileges(
        role, sales, [Privilege("SELECT_TABLE")], by=BY, authority=AUTHORITY
    ),
    "grant": lambda sales, role: grants.add(
        GrantRequest(sales, (people.ensure(*ANA),), ("SELECT_TABLE",)), by=acting("marek")
    ),
    "rename": lambda sales, role: objects.rename(sales, "late", by=BY, authority=AUTHORITY),
    "drop": lambda sales, role: objects.drop(sales, by=BY, authority=AUTHORITY),
}


@pytest.mark.parametrize("act", LATE.values(), ids=LATE)
def test_nothing_is_written_about_an_object_that_was_dropped_meanwhile(
    shop: Node, act: Callable[[Node, Node], object]
) -> None:
    sales, role = the("schema", "shop.sales"), a_role(shop, "late")
    objects.drop(sales, by=BY, authority=AUTHORITY)
    before = Counter.objects.get().revision
    with pytest.raises(PolicyError):
        act(sales, role)
    assert Counter.objects.get().revision == before
    assert len(nodes(all_below(shop.id).values_list("securable", flat=True))) == all_below(shop.id).count()


@pytest.mark.parametrize("act", ["assign", "allow", "own"])
def test_nothing_is_given_through_a_role_that_was_deleted_meanwhile(shop: Node, act: str) -> None:
    role, ana = a_role(shop, "late"), people.ensure(*ANA)
    roles.delete(role, by=BY, authority=AUTHORITY)
    with pytest.raises(NotFound):
        match act:
            case "assign":
                roles.assign(role, ana, by=BY, authority=AUTHORITY)
            case "allow":
                LATE["allow"](the("schema", "shop.sales"), role)
            case "own":
                owners.set_owner(role, ana, by=BY, authority=AUTHORITY)


@pytest.mark.django_db(transaction=True)
def test_the_record_is_whole_while_others_write(monkeypatch: pytest.MonkeyPatch) -> None:
    root, real = make_shop(), change.digest_of
    written = []

    def one_more() -> None:
        roles.create(root, f"more{len(written)}", by=BY, authority=AUTHORITY)
        written.append(1)
        connections.close_all()

    def meanwhile(*what: object) -> str:
        if len(written) < 2:
            thread = threading.Thread(target=one_more)
            thread.start()
            thread.join()
        return real(*what)

    monkeypatch.setattr(verify, "digest_of", meanwhile)
    before = Change.objects.count()
    verdict = verify.verify()
    assert verdict, verdict.broken
    assert verdict.changes == before
    assert Change.objects.count() == before + 2


def _fresh(name: str, root: Node) -> object:
    slices.forget_all()
    return _told(name, root)


def _told(name: str, root: Node) -> object:
    slice_ = slices.current(people.ensure("user", name), root)
    # rows come in the order that the database finds them in
    return slice_.bits, slice_.member, slice_.mode, sorted(slice_.rules, key=str), slice_.selves


NAMES = ("olivia", "ana", "mia", "carl")


@pytest.mark.django_db(transaction=True)
def test_a_kept_slice_never_says_anything_old() -> None:
    root = make_shop()
    orders, analysts, staff = the("table", "shop.sales.orders"), ("group", "analysts"), ("group", "staff")
    role, ana = a_role(root, "more", "allow SELECT_TABLE on schema shop.stock"), people.ensure(*ANA)
    outside = people.ensure("group", "outside")
    by = {"by": BY, "authority": AUTHORITY}
    acts: list[Callable[[], object]] = [
        lambda: grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=acting("olivia")),
        lambda: grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia")),
        lambda: roles.assign(role, people.ensure(*staff), **by),
        lambda: roles.add_privileges(role, orders, [Privilege("MODIFY_TABLE", "deny")], **by),
        lambda: owners.set_owner(orders, people.ensure(*analysts), **by),
        lambda: members.join_group(outside, ana, **by),
        lambda: members.add(root, outside, **by),
        lambda: roles.assign(role, outside, **by),
        lambda: members.remove(root, people.ensure(*staff), **by),
        lambda: members.leave_group(people.ensure(*analysts), people.ensure("user", "mia"), **by),
        lambda: objects.drop(orders, **by),
        lambda: roles.delete(role, **by),
        lambda: members.remove(root, ana, **by),
    ]
    for act in acts:
        for name in NAMES:
            _told(name, root)
        act()
        kept = [_told(name, root) for name in NAMES]
        assert kept == [_fresh(name, root) for name in NAMES]


@pytest.mark.django_db(transaction=True)
def test_a_second_question_costs_one_query(
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    root = make_shop()
    mia = people.ensure("user", "mia")
    assert ask.ask(mia, "read", the("table", "shop.sales.orders"))
    with django_assert_num_queries(1):
        ask.ask(mia, "read", root)


def test_what_is_dropped_at_once_costs_the_lock_no_more_statements(
    shop: Node, django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    stock = the("schema", "shop.stock")
    under(stock, "table", *(f"t{number}" for number in range(50)))
    with django_assert_max_num_queries(30):
        assert objects.drop(stock, by=BY, authority=AUTHORITY) == 52
