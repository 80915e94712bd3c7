"""Applied 41 of 42: how far a grant has come in the backend behind its object, in a mark and a few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accounts.models import Principal
from authzsite.console import words
from authzsite.console.parts import State
from catalog.nodes import Node
from policies.models import Backend
from policies.sync.standing import Arrival, Asked, Standing, names_behind, standings

Grant = tuple[Node, Principal, int]
"""On what, for whom, and in which change it was last decided."""
HALTED = (Backend.State.PAUSED, Backend.State.FAILED, Backend.State.HELD, Backend.State.SILENT)


def states(grants: Iterable[Grant]) -> list[State | None]:
    """One for each grant, in their order; None where nothing is mirrored.  Five queries, however many."""
    rows = list(grants)
    names = names_behind(one for _, one, _ in rows)
    return of([Asked(node, names[one.pk], revision) for node, one, revision in rows])


def of(asked: Sequence[Asked]) -> list[State | None]:
    """The same for who knows the login names.  Four queries, however many."""
    return [state(found) for found in standings(asked)] if asked else []


def state(found: Standing | None) -> State | None:
    """A mark and a word; None where no backend mirrors the object, or nobody is behind the grant."""
    if found is None or found.backend is None or not found.of:
        return None
    row = found.backend
    if row.compared_at is None and row.proved_at is None:
        return State("unknown", "Not yet compared")
    if found.parked:
        return State("failed", f"Refused by {row.get_kind_display()}", "waits for somebody")
    if found.coming:
        return State("behind", "On its way", row.get_state_display() if row.state in HALTED else "")
    return _counted(found, row)


def arrived(found: Arrival | None) -> State | None:
    """The same for one change of the record; None where no backend mirrors what it is about."""
    if found is None:
        return None
    row = found.backend
    if found.proved:
        return State("ok", "Applied", f"in {row.get_kind_display()}")
    if found.parked:
        return State("failed", f"Refused by {row.get_kind_display()}", "waits for somebody")
    if row.policy == Backend.Policy.REPORT:
        return State("behind", "Not applied", f"{row.get_kind_display()} is only watched")
    return State("behind", "On its way", row.get_state_display() if row.state in HALTED else "")


def _counted(found: Standing, row: Backend) -> State:
    if found.whole:
        return State("ok", _many(found))
    watched = row.policy == Backend.Policy.REPORT
    why = [f"{words.number(len(found.waiting))} {'only watched' if watched else 'on the way'}"]
    if not found.waiting:
        why = []
    if found.without_login:
        why.append(f"{words.number(len(found.without_login))} without login")
    if found.of > 1:
        return State("behind" if found.waiting else "unknown", _many(found), words.listed(why))
    if found.without_login:
        return State("unknown", "No login", f"in {row.get_kind_display()}")
    return State("behind", "Not applied", "only watched") if watched else State("behind", "On its way")


def _many(found: Standing) -> str:
    if found.of == 1:
        return "Applied"
    return f"Applied {words.number(found.applied)} of {words.number(found.of)}"
