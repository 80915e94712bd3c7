"""Undoing a grant or a revocation by a change the other way round; the record keeps both."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import nodes
from policies.authority import Actor
from policies.changes import change
from policies.errors import Conflict, Invalid, NotFound
from policies.events import GRANT_ADDED, GRANT_REMOVED
from policies.models import Assignment, Change, Grant
from policies.services import grants, realm_of
from policies.services.grants import Wish

UNDONE = (GRANT_ADDED, GRANT_REMOVED)


def undo(revision: int, *, by: Actor) -> Node:
    """Bring direct grants back to what they were before one's own change; answers the object it was about.

    Raises NotFound, Invalid (it is no such change), Conflict (they changed again since), Refused.
    """
    row = Change.objects.filter(revision=revision, actor=by.pseudonym).first()
    if row is None:
        raise NotFound("There is no such change of yours.")
    if row.kind not in UNDONE:
        raise Invalid("Only a grant or a revocation can be undone here.")
    begun, ended = Grant.objects.filter(opened=revision), Grant.objects.filter(closed=revision)
    facts = [*begun, *ended]
    keys = {fact.securable_id for fact in facts if fact.securable_id}
    places = nodes(keys)
    if not facts or len(places) < len(keys):
        raise Conflict("What it was about is no longer there.")
    about = max(places.values(), key=lambda node: len(node.levels))
    with change(
        GRANT_REMOVED if begun else GRANT_ADDED,
        realm=realm_of(about),
        by=by,
        reason=f"Undoes change {revision}",
    ):
        _unchanged(begun)
        for holder, grant in _held(begun):
            grants.remove(places[grant.securable_id or 0], [holder], [grant.privilege], by=by)
        for holder, grant in _held(ended):
            grants.add(_again(places[grant.securable_id or 0], holder, grant), by=by)
    return about


def _unchanged(begun: Iterable[Grant]) -> None:
    if any(grant.closed is not None for grant in begun):
        raise Conflict("These grants were changed again since.")


def _held(facts: Iterable[Grant]) -> Iterable[tuple[Principal, Grant]]:
    for grant in facts:
        if grant.holder is not None:
            yield grant.holder, grant
            continue
        assigned = (
            Assignment.objects.filter(role=grant.role_id, origin="system").select_related("holder").first()
        )
        if assigned is None:
            raise Invalid("Only what was given to people and groups directly can be undone here.")
        yield assigned.holder, grant


def _again(node: Node, holder: Principal, grant: Grant) -> Wish:
    return Wish(node, (holder,), (grant.privilege,), grant.valid_from, grant.valid_until, way=False)
