"""Undoing an actor's own change by the opposite change; the record keeps both."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from policies import events
from policies.authority import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.events import EventDraft
from policies.models import Change, Event
from policies.record import invariants
from policies.record.change import change
from policies.record.pending import ChangeInProgress
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
    row = _own(revision, by)
    with change(UNDONE[row.kind], realm=_realm(row), by=by, reason=reason_of(revision)) as current:
        about = _reversed(revision, current, by)
    return max(about, key=lambda about_item: len(about_item.levels) if isinstance(about_item, Node) else 0)


def gives_duties(revision: int) -> bool:
    """Whether undoing a change gives duties again that it took.  One query."""
    return Event.objects.filter(change=revision, kind=events.DUTY_TAKEN).exists()


@dataclass(frozen=True)
class UndoPlan:
    """What undoing a change would record, in the order in which it would."""

    change: Change
    events: tuple[EventDraft, ...]


class _Rehearsed(Exception):
    """Leaves a change that is only rehearsed, and so rolls it back."""


def plan(revision: int, *, by: Actor) -> UndoPlan:
    """What `undo` would do, found by doing all of it and rolling that back.

    Raises what `undo` would raise, and Conflict where nothing is left to undo.
    """
    row, drafts = _own(revision, by), tuple[EventDraft, ...]()
    try:
        with change(UNDONE[row.kind], realm=_realm(row), by=by) as current:
            _reversed(revision, current, by)
            invariants.check(current)
            drafts = tuple(draft for draft, _ in current.events)
            raise _Rehearsed
    except _Rehearsed:
        pass
    if not drafts:
        raise Conflict(gettext("There is nothing left to undo."))
    return UndoPlan(row, drafts)


def reason_of(revision: int) -> str:
    """The reason that the record gives for an undo."""
    return f"Undoes change {revision}"


def _own(revision: int, by: Actor) -> Change:
    row = Change.objects.filter(revision=revision, actor=by.pseudonym).first()
    if row is None:
        raise NotFound(gettext("You made no such change."))
    if row.kind not in UNDONE:
        raise Invalid(gettext("A change of this kind is not undone; make another one."))
    return row


def _realm(row: Change) -> Realm | None:
    return Realm.objects.filter(pk=row.realm).first() if row.realm else None


def _reversed(revision: int, current: ChangeInProgress, by: Actor) -> list[Node | Principal]:
    about = Reversal(revision, current, by).run()
    if not about:
        raise Conflict(gettext("The object concerned no longer exists."))
    return about
