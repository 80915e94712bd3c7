"""Small worlds in the words of an owner: `a_shop()` makes a metalake with a catalog, schemas and tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts import editions, people
from accounts.models import Principal, User
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef, split_name
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.authority import OPERATOR, Actor, of_operator
from policies.services import members, objects, owners, realms, roles
from policies.services.objects import NewObject
from policies.services.roles import Privilege
from policies.sync.connections import by_hand

BY, AUTHORITY = OPERATOR, of_operator(OPERATOR)
KEPT = by_hand.Decision(by_hand.KEEP)
"""What is registered already keeps its owners and grants when it is connected."""


def a_person(name: str, *groups: str) -> Principal:
    """A user, in those groups."""
    person = people.ensure("user", name)
    for group in groups:
        members.join_group(people.ensure("group", group), person, by=BY, authority=AUTHORITY)
    return person


def an_account(name: str, *, display_name: str = "", password: str | None = None) -> User:
    """Who signs in, called so though they were known before: of that the record tells nothing."""
    with editions.gathered():
        return people.make_account(name, display_name=display_name, password=password)


def rewritten(rows: Any, **values: Any) -> int:
    """Write sealed rows as the console does, for a world that begins so: the record tells nothing of it."""
    with editions.gathered():
        many: int = rows.update(**values)
    return many


def describe(number: int, content: dict[str, Any]) -> None:
    """Say that of an object, in a world that begins so."""
    with editions.gathered():
        Detail.objects.update_or_create(securable_id=number, defaults={"content": content})


def acting(person: Principal | str, via: str = "console") -> Actor:
    row = people.ensure("user", person) if isinstance(person, str) else person
    return Actor(row, via)


def a_metalake(name: str = "demo", owner: str = "marek", mode: str = "on") -> Node:
    return realms.create(
        "gravitino", name, owner=people.ensure("user", owner), by=BY, authority=AUTHORITY, mode=mode
    )


def admit(root: Node, *names: str) -> None:
    """Let `user:ana`, `group:analysts` into the realm; a bare name is a user."""
    for text in names:
        kind, _, name = text.rpartition(":")
        members.add(root, people.ensure(kind or "user", name), by=BY, authority=AUTHORITY)


def under(parent: Node, type: str, *names: str) -> list[Node]:
    return objects.register(parent, [NewObject(type, name) for name in names], by=BY, authority=AUTHORITY)


def a_shop(owner: str = "marek") -> Node:
    """Metalake demo › catalog shop › schemas sales (orders, customers, refunds; view top), stock (items)."""
    root = a_metalake(owner=owner)
    [shop] = under(root, "catalog", "shop")
    sales, stock = under(shop, "schema", "sales", "stock")
    under(sales, "table", "orders", "customers", "refunds")
    under(sales, "view", "top")
    under(stock, "table", "items")
    return root


def the(type: str, full_name: str = "", realm: str = "demo") -> Node:
    """The object of that name, which must be there: `the("table", "shop.sales.orders")`."""
    node = find(ObjectRef(type, realm, split_name(full_name) if full_name else ()))
    assert node is not None, f"{type} {full_name}"
    return node


def a_role(root: Node, name: str, *rules: str, held_by: tuple[str, ...] = ()) -> Node:
    """A role from sentences: `a_role(root, "reader", "allow SELECT_TABLE on schema shop.sales")`."""
    role = roles.create(root, name, by=BY, authority=AUTHORITY)
    for rule in rules:
        effect, code, _, type, *rest = rule.split(" ")
        node = the(type, rest[0] if rest else "", root.realm)
        roles.add_privileges(role, node, [Privilege(code, effect)], by=BY, authority=AUTHORITY)
    for text in held_by:
        kind, _, name = text.rpartition(":")
        roles.assign(role, people.ensure(kind or "user", name), by=BY, authority=AUTHORITY)
    return role


def a_use(
    name: str,
    node: Node,
    *,
    days: int = 1,
    action: str = "read",
    executed: bool = True,
    by: str = "nightly",
) -> None:
    """A job reports that somebody used an object so many days ago."""
    person, at = people.ensure("user", name), timezone.now() - timedelta(days=days)
    reported = ReportedUse(person, node, action, executed, at)
    uses.take(node.realm_id, people.ensure("service", by), f"{name} {node.id} {action} {days}", [reported])


def owned(node: Node, owner: str) -> None:
    kind, _, name = owner.rpartition(":")
    owners.set_owner(node, people.ensure(kind or "user", name), by=BY, authority=AUTHORITY)
