"""A namespace: who may do what in it, as a grid that is looked at before it is saved; its record; its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts import people
from authzsite.console.cdap.links import page_of_name
from authzsite.console.herd.context import GRANTING, HerdContext, namespace_at
from authzsite.console.herd.effects import EntryEffects, labels
from authzsite.console.herd.grid import Grid
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.herd.steps import Steps
from authzsite.console.herd.views import crumbs, permitted, show
from authzsite.console.history import timeline
from authzsite.console.history import views as history_views
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import RESUMED, Plan
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import (
    Action,
    Diff,
    DiffLine,
    Empty,
    Fact,
    Facts,
    Note,
    Reason,
    State,
    Tab,
    Tabs,
)
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import say
from authzsite.console.kit.refusal import refused
from catalog.models import Detail
from lakewarden.law.dialects.herd.permissions import PERMISSIONS
from policies.authority import Actor
from policies.decisions.lookups.entries import holders_on, in_use
from policies.errors import Conflict, Invalid
from policies.events import GRANT_ADDED, OBJECT_DROPPED
from policies.previews.entries import of_turns
from policies.record import access_log, history
from policies.record.history import Filter
from policies.separation import Separated
from policies.services import entries, objects
from policies.services.authorities import authorized
from policies.services.entries import Turn
from policies.services.grants import revision_now

DROP = "Namespace.deleteNamespace"
IN_USE = "Somebody else still has an entry in it, or something lies below it."


@reads_and_writes
@login_required
def namespace_detail(request: Request, id: int) -> HttpResponse:
    """The grid: filled from the facts, from the address, from a kept form, or from itself."""
    desk = namespace_at(request, id)
    if named := page_of_name(desk.node):  # a namespace of a CDAP
        return redirect(named)
    if request.method == "POST":
        if not desk.may_grant:
            return refused(request, desk.place, "grant")
        return _posted(request, desk)
    if desk.may_review:
        access_log.looked(desk.place.asker, "review access", desk.node, via="console")
    again = form_resume.take(request)
    grid = Grid(desk, request.GET, again if again is not None else request.GET)
    return _show(request, grid, [RESUMED] if again is not None else [])


def _posted(request: Request, desk: HerdContext) -> HttpResponse:
    grid = Grid(desk, request.GET, request.POST)
    sent_before = done_before(Actor(desk.place.asker, "console", request_id=grid.nonce))
    if sent_before is not None:
        return _done(request, grid, sent_before)
    saving = request.POST.get("step") == "save" and not {"fold", "clear"} & set(request.POST)
    if not saving or not grid.check():
        return _show(request, grid, [], status=422 if saving else 200)
    if grid.problems:
        return _show(request, grid, [], status=422)
    if not grid.turns:
        return _show(request, grid, [Note("", "Nothing is different yet.")], status=422)
    return _save(request, grid)


def _save(request: Request, grid: Grid) -> HttpResponse:
    node = grid.desk.node
    actor = Actor(grid.desk.place.asker, "console", request_id=grid.nonce)
    try:
        with authorized(GRANT_ADDED, node, GRANTING, by=actor, reason=grid.reason) as authority:
            turns = [_known(turn) for turn in grid.turns]
            entries.turn(node, turns, by=actor, authority=authority, seen=grid.seen)
    except Separated as problem:
        return _show(request, grid, [Note("bad", "Not saved.", f"{problem} Your form is kept.")], status=422)
    except Conflict:
        return _show(request, grid, [changed_meanwhile(node, grid.seen or 0)], fresh=True, status=409)
    except Invalid as problem:
        return _show(request, grid, [Note("bad", "Not saved.", f"{problem} Your form is kept.")], status=422)
    return _done(request, grid, done_before(actor))


def _done(request: Request, grid: Grid, revision: int | None) -> HttpResponse:
    node, names = grid.desk.node, [turn.holder.label for turn in grid.turns]
    say(request, f"{node.name} is changed{': ' if names else ''}{words.listed(names, 3)}", undo=revision)
    return redirect(_address(request, node.id))


def _known(turn: Turn) -> Turn:
    """The same turn, its holder with a number."""
    if turn.holder.pk:
        return turn
    return Turn(people.ensure(turn.holder.kind, turn.holder.name), turn.gives, turn.takes)


def _address(request: Request, id: int) -> str:
    """Back to the same page of the list."""
    kept_ = {name: request.GET[name] for name in ("q", "after") if request.GET.get(name)}
    url = reverse("console:namespace", args=[id])
    return f"{url}?{urlencode(kept_)}" if kept_ else url


@writes
@login_required
def preview(request: Request, id: int) -> HttpResponse:
    """What the grid would change as it stands, for a script."""
    desk = namespace_at(request, id)
    if not desk.may_grant:
        return refused(request, desk.place, "grant")
    grid = Grid(desk, request.GET, request.POST)
    return render(request, "console/herd/live.html", _foretold(grid))


def _foretold(grid: Grid) -> dict[str, Any]:
    """What it changes, and the button that says how much."""
    desk = grid.desk
    if not grid.turns:
        return {
            "preview_empty": "Change a permission, and the preview shows who gains and who loses.",
            "button": "Save",
        }
    button = f"Save {words.count(len(grid.turns), 'entry', 'entries')}"
    if not desk.may_review:
        return {"diff": _blind(grid), "button": button}
    told = EntryEffects(desk, grid.turns, of_turns(desk.node, grid.turns, now=desk.place.now))
    return {"tally": told.tally(), "diff": told.diff(), "sum": told.sum(), "button": button}


def _blind(grid: Grid) -> Diff:
    """For viewers who may give but not review: what is given, without what anybody has."""
    name = grid.desk.node.name
    lines = (
        DiffLine("gain", turn.holder.label, f"gets {labels(turn.gives)} on {name}") for turn in grid.turns
    )
    return Diff(tuple(lines))


def _show(
    request: Request, grid: Grid, notes: list[Note], *, fresh: bool = False, status: int = 200
) -> HttpResponse:
    desk, seen = grid.desk, grid.seen
    foretold = _foretold(grid) if desk.may_grant else {}
    context = {
        **head(desk, "namespace"),
        "notes": notes,
        "here": request.get_full_path() if request.method == "POST" else _address(request, desk.node.id),
        "preview_url": f"{reverse('console:namespace_preview', args=[desk.node.id])}?{_listing(grid)}",
        "nonce": grid.nonce,
        "seen": revision_now() if seen is None or fresh else seen,
        **_grid(grid),
        **foretold,
        **_below(desk),
        "problems": grid.problems,
        "reason": grid.reason,
        "own": _own(desk),
    }
    return show(request, "console/herd/namespace.html", desk, context, status=status)


def _listing(grid: Grid) -> str:
    kept_ = {"q": grid.text, "after": grid.place_in_list.get("after", "")[:300]}
    return urlencode({name: value for name, value in kept_.items() if value})


def _grid(grid: Grid) -> dict[str, Any]:
    desk = grid.desk
    rows = grid.rows()
    return {
        "may_grant": desk.may_grant,
        "may_review": desk.may_review,
        "columns": [PERMISSIONS[code] for code in grid.columns],
        "wide": grid.wide,
        "rows": rows,
        "asked": grid.text,
        "add": "" if grid.added is not None and not grid.problems else grid.data.get("add", "")[:255],
        "add_cells": [
            (PERMISSIONS[code], code in grid.data.getlist("add_may") and grid.added is None)
            for code in grid.columns
        ],
        "pager": _pager(grid),
        "empty": _empty(grid),
        "locked": _locked(desk),
    }


def _pager(grid: Grid) -> Pager | None:
    if not grid.desk.may_review:
        return None
    many = holders_on(grid.desk.node, text=grid.text, now=grid.desk.place.now).count()
    q = {"q": grid.text} if grid.text else {}
    next_ = "?" + urlencode({**q, "after": grid.next_after}) if grid.next_after else ""
    start = "?" + urlencode(q) if grid.place_in_list.get("after") else ""
    text = f"{words.count(many, 'entry', 'entries')}, by user id"
    csv = reverse("console:namespace_csv", args=[grid.desk.node.id])
    return Pager(text, start, next_, f"{csv}?{urlencode(q)}" if q else csv)


def _empty(grid: Grid) -> Empty:
    node = grid.desk.node
    if grid.text:
        every = Action("Show all", reverse("console:namespace", args=[node.id]))
        return Empty(f"No entry matches “{grid.text}”", drawn=False, actions=(every,))
    return Empty(f"Nobody has access to {node.name} yet", "Name a user id, choose, look, then save.")


def _locked(desk: HerdContext) -> Reason | None:
    """Why the grid is not the viewer's to change, and who can."""
    if desk.may_grant:
        return None
    lacks = "the role DATA_OWNER" if not desk.is_data_owner else f"Grant on {desk.node.name}"
    asked = {"who": str(desk.place.asker), "action": "grant", "what": desk.node.ref.id, "type": "namespace"}
    url = f"{reverse('console:why')}?{urlencode(asked)}"
    names = [owner.label for owner in desk.own_data_owners]
    admin = desk.administrator
    who = words.listed(names, 3) or (f"the administrator, {admin.label}" if admin else "nobody")
    text = f"You cannot change this: you lack {lacks}. {who[:1].upper()}{who[1:]} can."
    return Reason("why-not-grant", text, url, "See what you lack")


def _own(desk: HerdContext) -> str:
    if desk.administers:
        return "Everything, as administrator"
    held = permitted(desk.place.slice, desk.node, desk.place.now.timestamp())
    return labels(held) or "Nothing"


# The top and the rest


def head(desk: HerdContext, tab: str) -> dict[str, Any]:
    """The name, the fixed numbers and the parts of a namespace's pages."""
    detail = Detail.objects.filter(securable=desk.node.id).first()
    return {
        "crumbs": crumbs(desk, here=False),
        "heading": desk.node.name,
        "kind": "Namespace",
        "lead": detail.comment if detail else "",
        "actions": list(_actions(desk)),
        "facts": Facts(tuple(_facts(desk, detail))),
        "tabs": Tabs(
            (
                Tab(
                    "Permissions",
                    reverse("console:namespace", args=[desk.node.id]),
                    current=tab == "namespace",
                ),
                Tab(
                    "History",
                    reverse("console:namespace_history", args=[desk.node.id]),
                    current=tab == "namespace_history",
                ),
            )
        ),
    }


def _actions(desk: HerdContext) -> Iterable[Action]:
    asked = {"who": str(desk.place.asker), "action": "read", "what": desk.node.ref.id, "type": "namespace"}
    yield Action("Ask why", f"{reverse('console:why')}?{urlencode(asked)}", "plain", "why")
    if desk.may(DROP):
        yield Action("Delete", reverse("console:namespace_delete", args=[desk.node.id]))


def _facts(desk: HerdContext, detail: Detail | None) -> Iterable[Fact]:
    owners = [owner.label for owner in desk.own_data_owners]
    missing = None if owners else State("behind", "No data owner")
    yield Fact("Data owners", words.listed(owners, 3), state=missing)
    yield Fact("You may", _own(desk))
    if desk.may_review:
        entries_ = holders_on(desk.node, now=desk.place.now).count()
        yield Fact("Entries", words.number(entries_))
    charge = (detail.content or {}).get("charge_code") if detail else None
    if charge:
        yield Fact("Charge code", charge)


def _below(desk: HerdContext) -> dict[str, Any]:
    steps = Steps(desk)
    asked = Filter(object=desk.node, kinds=timeline.ABOUT_ACCESS)
    latest = history.page(asked, history.sight(desk.place.asker, [desk.herd]), limit=4).entries
    return {
        "steps": steps.rows(),
        "steps_done": steps.done,
        "latest": timeline.timeline(timeline.rows(latest)[:6]),
        "history_url": reverse("console:namespace_history", args=[desk.node.id]),
    }


@reads
@login_required
def history_tab(request: Request, id: int) -> HttpResponse:
    """What changed in the namespace, newest first."""
    desk = namespace_at(request, id)
    shown = history_views.shown(request, desk.place.asker, [desk.herd], desk.node)
    return show(request, "console/herd/history.html", desk, {**head(desk, "namespace_history"), **shown})


# Deleting


class DeleteNamespaceView(HerdChangeView):
    """What goes with it; then it goes, unless somebody else still has something there."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = "Not deleted."

    def get_object(self) -> HerdContext:
        return namespace_at(self.request, self.kwargs["id"])

    def refusal(self) -> HttpResponse | None:
        return None if self.desk.may(DROP) else refused(self.request, self.desk.place, "drop")

    def post(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if in_use(self.desk.node, apart_from=self.asker):
            return self.show(self.make_form(self.data), 409)
        return super().post(request, *args, **kwargs)

    def plan(self, form: ConfirmForm) -> Plan:
        name = self.desk.node.name
        if in_use(self.desk.node, apart_from=self.asker):
            note = Note("bad", f"{name} is in use and cannot be deleted.", f"{IN_USE} Remove that first.")
            return Plan(nothing=True, notes=(note,))
        later = "A later namespace of this name starts empty."
        return Plan(diff=Diff((DiffLine("lose", name, "is no longer there", later),)))

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        node, reason = self.desk.node, form.cleaned_data["reason"]
        with authorized(OBJECT_DROPPED, node, DROP, by=actor, reason=reason) as authority:
            if in_use(node, apart_from=self.asker):  # since it was looked at
                raise Conflict(IN_USE)
            objects.drop(node, by=actor, authority=authority, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        return f"Namespace {self.desk.node.name} is deleted; its history is kept"

    def get_success_url(self) -> str:
        return reverse("console:herd", args=[self.desk.herd.id])

    def heading(self, form: ConfirmForm) -> str:
        return f"Delete namespace {self.desk.node.name}?"

    def lead(self) -> str:
        return terms.place_words(self.desk.node)

    def button(self, form: ConfirmForm) -> str:
        return f"Delete {self.desk.node.name}"

    def back(self) -> str:
        return reverse("console:namespace", args=[self.desk.node.id])
