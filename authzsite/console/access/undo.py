"""Undoing the viewer's own change: what that does is shown first where it is asked for in the history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.access.effects import out_there
from authzsite.console.access.merged_preview import Together
from authzsite.console.history import timeline
from authzsite.console.kit import step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs, Diff, DiffLine, Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.replay import Proposal, root_of, section
from authzsite.console.sync.backend_state import behind
from catalog.nodes import Node, nodes
from policies import events
from policies.authority import Actor
from policies.decisions.personal_role_names import tells_of_personal_role
from policies.errors import NotFound, PolicyError
from policies.events import EventDraft
from policies.previews import grants as previews
from policies.services.undo import UndoPlan, gives_duties, plan
from policies.services.undo import undo as undo_change
from policies.simulation.changes import RevokeAccess, Target


@reads_and_writes
@login_required
def undo(request: Request, revision: int) -> HttpResponse:
    """What undoing the viewer's own change does; a POST does it, and the record keeps both."""
    by = Actor(asker_of(request), "console")
    if request.method != "POST":
        return _asked(request, revision, by)
    if gives_duties(revision) and (answer := step_up.asked(request)):
        return answer
    try:
        about = undo_change(revision, by=by)
    except PolicyError as problem:
        say(request, _("Not undone. %(problem)s") % {"problem": problem})
        return redirect(_change_page(revision))
    say(request, _("Change %(revision)s is undone") % {"revision": words.number(revision)})
    if isinstance(about, Principal):
        return redirect("console:person_groups", id=about.pk)
    return redirect("console:role" if about.type == "role" else "console:object", id=about.id)


def _asked(request: Request, revision: int, by: Actor) -> HttpResponse:
    number = words.number(revision)
    context: dict[str, Any] = {
        "crumbs": Crumbs(((_("History"), reverse("console:history")),)),
        "heading": _("Undo change %(number)s?") % {"number": number},
        "button": _("Undo change %(number)s") % {"number": number},
        "back": _change_page(revision),
    }
    try:
        context |= _planned(plan(revision, by=by), asker_of(request))
    except NotFound:
        return redirect(_change_page(revision))
    except PolicyError as problem:
        note = Note("bad", _("Change %(number)s cannot be undone.") % {"number": number}, str(problem))
        context |= {"plan": Plan(nothing=True), "notes": (note,)}
    return page(request, "console/access/undo.html", context, section="history")


def _change_page(revision: int) -> str:
    return f"{reverse('console:history')}?revision={revision}"


def _planned(undoing: UndoPlan, viewer: Principal) -> dict[str, Any]:
    lead = _("You made it %(when)s. The history keeps both changes.")
    revoked = Revoked.of(undoing.events)
    return {
        "lead": lead % {"when": words.moment(undoing.change.at, within=True)},
        "plan": revoked.plan() if revoked else Plan(),
        "replay": section(viewer, revoked.proposals()) if revoked else None,
        "recorded": Diff(tuple(_lines(undoing))),
    }


def _lines(undoing: UndoPlan) -> Iterable[DiffLine]:
    """Each thing that begins or ends, as the history will have it."""
    for row in timeline.foreseen(undoing.change.actor, undoing.events):
        yield DiffLine(row.kind, "", row.sentence)


@dataclass(frozen=True)
class Revoked:
    """One holder's direct access to some objects, which an undo would take."""

    holder: Principal
    removed: tuple[tuple[Node, tuple[str, ...]], ...]
    """Each object with what is removed on it, and nowhere else."""

    @classmethod
    def of(cls, drafts: Sequence[EventDraft]) -> Revoked | None:
        """The same of what would be recorded, where it is nothing else."""
        told_drafts = [draft for draft in drafts if not tells_of_personal_role(draft)]
        people = {draft.people for draft in told_drafts}
        plain = all(draft.kind == events.GRANT_REMOVED and "text" not in draft.data for draft in told_drafts)
        if not plain or len(people) != 1 or len(next(iter(people))) != 1:
            return None
        codes: dict[int, set[str]] = {}
        for draft in told_drafts:
            codes.setdefault(draft.lineage[-1], set()).add(str(draft.data["privilege"]))
        removed = tuple((node, tuple(sorted(codes[key]))) for key, node in nodes(codes).items())
        holder = Principal.objects.filter(pseudonym=next(iter(people))[0]).first()
        return cls(holder, removed) if holder is not None and removed else None

    def proposals(self) -> Iterable[Proposal]:
        taken = [RevokeAccess(Target(node), self.holder, codes) for node, codes in self.removed]
        yield root_of(self.removed[0][0]), taken

    def plan(self) -> Plan:
        """Who really loses something, and who keeps it by another path."""
        parts = previews.of_removals(self.removed, (self.holder,))
        shown = Together(parts, removal=True)
        deepest = max((node for node, _ in self.removed), key=lambda node: len(node.levels))
        backend = out_there(behind(deepest), removal=True)
        return Plan(diff=shown.diff(), tally=shown.tally(), backend=backend)
