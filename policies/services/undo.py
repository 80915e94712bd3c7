"""Undoing an actor's own change by the opposite change; the record keeps both."""

from __future__ import annotations

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from policies import events
from policies.authority import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.models import Change
from policies.record.change import change
from policies.services.reversal import Reversal

UNDONE = {
    events.GRANT_ADDED: events.GRANT_REMOVED,
    events.GRANT_REMOVED: events.GRANT_ADDED,
    events.ROLE_ASSIGNED: events.ROLE_UNASSIGNED,
    events.ROLE_UNASSIGNED: events.ROLE_ASSIGNED,
    events.OWNER_SET: events.OWNER_SET,
    events.MEMBER_ADDED: events.MEMBER_REMOVED,
    events.MEMBER_REMOVED: events.MEMBER_ADDED,
    events.GROUP_JOINED: events.GROUP_LEFT,
    events.GROUP_LEFT: events.GROUP_JOINED,
    events.DUTY_GIVEN: events.DUTY_TAKEN,
    events.DUTY_TAKEN: events.DUTY_GIVEN,
    events.SEPARATION_MADE: events.SEPARATION_ENDED,
    events.SEPARATION_ENDED: events.SEPARATION_MADE,
    events.EXCEPTION_MADE: events.EXCEPTION_ENDED,
    events.EXCEPTION_ENDED: events.EXCEPTION_MADE,
}
"""The kinds of change that can be taken back, and the kind of the change that does it."""


def undo(revision: int, *, by: Actor) -> Node | Principal:
    """Restore what was before the actor's own change; answers the object, role or group it was about.

    Raises NotFound, Invalid (such a change is not undone), Conflict (it changed again since), Refused.
    """
    row = Change.objects.filter(revision=revision, actor=by.pseudonym).first()
    if row is None:
        raise NotFound(gettext("You made no such change."))
    if row.kind not in UNDONE:
        raise Invalid(gettext("A change of this kind is not undone; make another one."))
    realm = Realm.objects.filter(pk=row.realm).first() if row.realm else None
    with change(UNDONE[row.kind], realm=realm, by=by, reason=f"Undoes change {revision}") as current:
        found = Reversal(revision, current, by).run()
        if not found:
            raise Conflict(gettext("What it was about is no longer there."))
    return max(found, key=lambda one: len(one.levels) if isinstance(one, Node) else 0)
