"""The changes that end some grants, as anybody else would make them."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.models import Principal
from catalog.nodes import Node, nodes
from policies.decisions import personal_role_names
from policies.errors import Invalid
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.services import patterns
from policies.simulation.changes import Change, RemoveFromRole, RevokeAccess, Target


def of_grants(root: Node, grants: Iterable[Grant]) -> list[Change]:
    """Taking some grants back in the realm below `root`; what is no longer there is left out.

    A fixed number of queries.
    """
    rows = list(grants)
    by_id = nodes({key for row in rows for key in (row.securable_id, row.role_id) if key})
    personal = _holders(
        key
        for key, node in by_id.items()
        if node.type == "role" and personal_role_names.is_personal(node.name)
    )
    wanted = {row.holder_id for row in rows if row.holder_id} | set(personal.values())
    people = Principal.objects.in_bulk(wanted)
    changes = (_of_grant(root, row, by_id, people, personal) for row in rows)
    return [change for change in changes if change is not None]


def _holders(roles: Iterable[int]) -> dict[int, int]:
    """Whose each personal role is."""
    some = list(roles)
    rows = Assignment.objects.open().filter(role__in=some) if some else Assignment.objects.none()
    return dict(rows.values_list("role", "holder"))


def _of_grant(
    root: Node,
    row: Grant,
    by_id: dict[int, Node],
    people: dict[int, Principal],
    personal: dict[int, int],
) -> Change | None:
    target = _target(root, row, by_id)
    holder = people.get(row.holder_id or personal.get(row.role_id or 0, 0))
    role = by_id.get(row.role_id or 0)
    if target is None:
        return None
    if holder is not None and row.effect == Effect.ALLOW:
        return RevokeAccess(target, holder, (row.privilege,))
    return RemoveFromRole(role, target, (row.privilege,), row.effect) if role is not None else None


def _target(root: Node, row: Grant, by_id: dict[int, Node]) -> Target | None:
    if not row.pattern:
        node = by_id.get(row.securable_id or 0)
        return Target(node) if node is not None else None
    try:
        return Target.of_text(root, patterns.named(root, row.pattern))
    except Invalid:
        return None
