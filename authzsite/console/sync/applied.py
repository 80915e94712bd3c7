"""Applied 41 of 42: how far a grant has come in the backend behind its object, in a mark and a few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import State
from catalog.nodes import Node
from policies.models import Backend, ForeignOrder
from policies.sync.status import StatusQuestion, SyncStatus, names_behind, statuses

Grant = tuple[Node, Principal, int, frozenset[str]]
"""On what, for whom, in which change it was last decided, and which privileges; none for all."""
HALTED = (Backend.State.PAUSED, Backend.State.FAILED, Backend.State.HELD, Backend.State.SILENT)


def states(grants: Iterable[Grant]) -> list[State | None]:
    """One for each grant, in their order; None where nothing is mirrored.  Six queries, however many."""
    rows = list(grants)
    names = names_behind(principal for _, principal, *_ in rows)
    return of(
        [
            StatusQuestion(node.lineage, names[principal.pk], revision, codes)
            for node, principal, revision, codes in rows
        ]
    )


def of(asked: Sequence[StatusQuestion]) -> list[State | None]:
    """The same for who knows the login names."""
    return [state(status) for status in statuses(asked)] if asked else []


def state(found: SyncStatus | None) -> State | None:
    """A mark and a word; None where no backend mirrors the object, or nobody is behind the grant."""
    if found is None or found.backend is None or not found.of:
        return None
    row = found.backend
    if row.compared_at is None and row.proved_at is None:
        return State("unknown", gettext("Not yet compared"))
    return _decided_since(found, row) or _counted(found, row)


def arrived(found: SyncStatus | None) -> State | None:
    """The same for one change of the record; None where no backend mirrors what it is about."""
    if found is None or found.backend is None:
        return None
    row, system = found.backend, found.backend.get_kind_display()
    if since := _decided_since(found, row):
        return since
    if found.refused or found.left:
        return refused(system) if found.refused else left(system)
    if found.waiting:
        watched = row.does == Backend.Policy.REPORT
        return (
            State("behind", gettext("Not applied"), gettext("%(system)s only reports") % {"system": system})
            if watched
            else _on_its_way(row)
        )
    if found.of and len(found.without_login) == found.of:
        return State("unknown", gettext("No login"), gettext("in %(system)s") % {"system": system})
    return State("ok", gettext("Applied"), gettext("in %(system)s") % {"system": system})


def ordered(orders: Sequence[ForeignOrder]) -> State | None:
    """The same for a decision about a foreign right."""
    if not orders:
        return None
    system = orders[0].backend.get_kind_display()
    if any(order.dropped for order in orders):
        return State("unknown", gettext("Given up"), gettext("it was left as it was"))
    if any(order.is_stuck for order in orders):
        return refused(system)
    if all(order.done for order in orders):
        return State("ok", gettext("Applied"), gettext("in %(system)s") % {"system": system})
    return _on_its_way(orders[0].backend)


def refused(system: str) -> State:
    """It failed for good, and will not be there until somebody does something."""
    return State("failed", gettext("Refused by %(system)s") % {"system": system}, gettext("needs attention"))


def left(system: str) -> State:
    """It was refused, and somebody left it as it is there until a date."""
    return State("paused", gettext("Left as it is"), gettext("in %(system)s") % {"system": system})


def _on_its_way(row: Backend) -> State:
    return State(
        "behind", gettext("On its way"), gettext(str(row.get_state_display())) if row.state in HALTED else ""
    )


def _decided_since(status: SyncStatus, row: Backend) -> State | None:
    """Of what was decided after the last comparison nothing is known in the backend yet."""
    if status.parked:
        return State(
            "failed",
            gettext("%(get_kind_display)s fails") % {"get_kind_display": row.get_kind_display()},
            gettext("needs attention"),
        )
    if not status.coming:
        return None
    if row.does == Backend.Policy.REPORT:
        return State(
            "behind",
            gettext("Not yet compared"),
            gettext("%(get_kind_display)s only reports") % {"get_kind_display": row.get_kind_display()},
        )
    return _on_its_way(row)


def _counted(status: SyncStatus, row: Backend) -> State:
    if status.whole:
        return State("ok", _many(status))
    if status.of == 1:
        if status.refused or status.left:
            system = row.get_kind_display()
            return refused(system) if status.refused else left(system)
        if status.without_login:
            return State(
                "unknown",
                gettext("No login"),
                gettext("in %(get_kind_display)s") % {"get_kind_display": row.get_kind_display()},
            )
        if row.does == Backend.Policy.REPORT:
            return State("behind", gettext("Not applied"), gettext("only reports"))
        return _on_its_way(row)
    watched = row.does == Backend.Policy.REPORT
    parts = (
        (status.refused, gettext("refused")),
        (status.left, gettext("left as they are")),
        (status.waiting, gettext("only reports") if watched else gettext("on the way")),
        (status.without_login, gettext("without login")),
    )
    why = [f"{words.number(len(names))} {word}" for names, word in parts if names]
    mark = "failed" if status.refused else "behind" if status.waiting else "unknown"
    return State(mark, _many(status), words.listed(why))


def _many(status: SyncStatus) -> str:
    if status.of == 1:
        return gettext("Applied")
    return gettext("Applied %(applied)s of %(of)s") % {
        "applied": words.number(status.applied),
        "of": words.number(status.of),
    }
