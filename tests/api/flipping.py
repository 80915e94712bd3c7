"""A second process that gives and takes ana's right to read, one committed change a line on stdin.

It writes `allowed` or `refused` once the change is committed.
"""

from __future__ import annotations

import sys

import django

django.setup()

from accounts import people  # noqa: E402  the registry must be filled first
from catalog.nodes import Node  # noqa: E402
from catalog.queries import find  # noqa: E402
from lakewarden.law.objects import ObjectRef  # noqa: E402
from policies.services import members, roles  # noqa: E402
from policies.services.roles import Privilege  # noqa: E402
from tests.api.world import BY  # noqa: E402


def node(type_: str, *path: str) -> Node:
    node_ = find(ObjectRef(type_, "demo", path))
    assert node_ is not None
    return node_


READERS, SHOP, SALES = node("role", "readers"), node("catalog", "shop"), node("schema", "shop", "sales")
ANA, STAFF = people.ensure("user", "ana"), people.ensure("group", "staff")
SELECT, DENY = [Privilege("SELECT_TABLE")], [Privilege("SELECT_TABLE", "deny")]


def flip(number: int) -> None:
    """Each pair takes the right away and gives it back, every pair by another kind of fact."""
    kind, gives = number // 2 % 4, number % 2
    if kind == 0:
        (roles.add_privileges if gives else roles.remove_privileges)(READERS, SALES, SELECT, **BY)
    elif kind == 1:
        (roles.remove_privileges if gives else roles.add_privileges)(READERS, SHOP, DENY, **BY)
    elif kind == 2:
        (members.join_group if gives else members.leave_group)(STAFF, ANA, **BY)
    else:
        (roles.assign if gives else roles.unassign)(READERS, STAFF, **BY)


for number, _ in enumerate(sys.stdin):
    flip(number)
    sys.stdout.write("allowed\n" if number % 2 else "refused\n")
    sys.stdout.flush()
