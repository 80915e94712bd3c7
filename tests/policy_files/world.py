"""Worlds that policy files are planned for and applied to, and the words for doing so."""

from __future__ import annotations

from typing import Any

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import OPERATOR, Actor
from policies.models import AccessRequest, Assignment
from policies.policy_files import document
from policies.policy_files.applying import Outcome, apply, apply_or_ask
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm
from policies.requests import rules
from policies.services import accounts, duties
from tests.factories import AUTHORITY, BY, a_role, a_shop, acting, admit, the

READER = """
format: 1
realm: demo
owns: [role:reader]
roles:
  reader:
    holders: [user:bo]
    allows:
      catalog:shop: [USE_CATALOG]
      schema:shop.sales: [USE_SCHEMA]
"""


def plan(root: Node, text: str) -> Plan:
    return Plan(root, document.read(text))


def applied(root: Node, text: str, **options: Any) -> Plan:
    """The plan of a file, applied at once by the operator, if nothing else is said."""
    file = document.read(text)
    return apply(root, file, **{"seen": Plan(root, file).digest, "by": OPERATOR, **options})


def exported(root: Node, **options: Any) -> str:
    return document.write(root, of_realm(root), **options)


# Where another person has to approve

PEOPLE = ("marek", "gil", "hana", "ana", "bo")
GATED = READER.replace("      schema:shop.sales: [USE_SCHEMA]\n", "")
"""What removes ana from role reader of the gated world, and gives it to bo."""
WHY = "merge 17 by marek"


def a_gated_world() -> Node:
    """Marek owns demo; gil may grant in all of it, hana approves requests there, both not its owner.

    Ana holds role reader.  Service ci may grant too; marek answers for it.  Every plan that removes or
    changes something needs approval.
    """
    root = a_shop()
    for name in PEOPLE:
        people.make_account(name)
    admit(root, *PEOPLE, "service:ci")
    a_role(root, "reader", "allow USE_CATALOG on catalog shop", held_by=("ana",))
    a_role(
        root,
        "granting",
        "allow MANAGE_GRANTS on metalake",
        held_by=("gil", "service:ci"),
    )
    duties.give(root, "approve_requests", named("hana"), by=BY, authority=AUTHORITY)
    accounts.set_keeper(named("ci", "service"), named("marek"), by=BY, authority=AUTHORITY)
    rules.set_rule(root, by=acting("marek"), plan_approval="removals")
    return root


def named(name: str, kind: str = "user") -> Principal:
    return people.ensure(kind, name)


def submit(root: Node, text: str = GATED, *, by: Actor | str = "marek", reason: str = WHY) -> Outcome:
    file = document.read(text)
    actor = acting(by) if isinstance(by, str) else by
    return apply_or_ask(root, file, seen=Plan(root, file).digest, by=actor, reason=reason)


def waiting(root: Node, text: str = GATED, **more: object) -> AccessRequest:
    request = submit(root, text, **more).waits  # type: ignore[arg-type]
    assert request is not None
    return request


def holders(name: str = "reader") -> set[str]:
    rows = Assignment.objects.open().filter(role=the("role", name).id)
    return {row.holder.name for row in rows.select_related("holder")}
