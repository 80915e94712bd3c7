"""A namespace: who may do what in it, as a grid that is looked at before it is saved; its record; its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import people
from authzsite.console.cdap.links import page_of_name
from authzsite.console.herd.context import GRANTING, HerdContext, namespace_at
from authzsite.console.herd.effects import EntryEffects, labels
from authzsite.console.herd.grid import Grid, GridForm
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.herd.steps import Steps
from authzsite.console.herd.views import crumbs, permitted, show
from authzsite.console.history import timeline
from authzsite.console.history import views as history_views
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
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
from authzsite.console.kit.methods import reads
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.models import Detail
from lakewarden.law.dialects.herd.permissions import PERMISSIONS
from policies.authority import Actor
from policies.decisions.lookups.entries import holders_on, in_use
from policies.errors import Conflict
from policies.events import GRANT_ADDED, OBJECT_DROPPED
from policies.previews.entries import of_turns
from policies.record import access_log, history
from policies.record.history import Filter
from policies.separation import Separated
from policies.services import entries, objects
from policies.services.authorities import authorized
from policies.services.entries import Turn
from policies.simulation.changes import DropObject, GrantAccess, RevokeAccess, Target

DROP = "Namespace.deleteNamespace"
IN_USE = gettext_lazy("Someone else still has an entry in it, or something lies below it.")


class NamespaceView(HerdChangeView):
    """The grid: filled from the facts, from the address, from a kept form, or from itself."""

    template_name = "console/herd/namespace.html"
    looks_first = True
    naming_buttons = frozenset({"fold", "clear"})

    def get_object(self) -> HerdContext:
        return namespace_at(self.request, self.kwargs["id"])

    def refusal(self) -> HttpResponseBase | None:
        if named := page_of_name(self.desk.node):  # a namespace of a CDAP
            return redirect(named)
        if self.request.method == "POST" and not self.desk.may_grant:
            return refused(self.request, self.desk.place, "grant")
        return None

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if self.desk.may_review:
            access_log.looked(self.asker, "review access", self.desk.node, via="console")
        return super().get(request, *args, **kwargs)

    def make_form(self, data: Any) -> GridForm:
        return GridForm(data, desk=self.desk, place_in_list=self.request.GET)

    def plan(self, form: GridForm) -> Plan:
        turns = form.grid.turns if self.desk.may_grant else []
        if not turns:
            return Plan(empty=_("Change a permission, and the preview shows who gains and who loses."))
        if not self.desk.may_review:
            return Plan(diff=_given_alone(self.desk.node.name, turns))
        effects = EntryEffects(self.desk, turns, of_turns(self.desk.node, turns, now=self.desk.place.now))
        return Plan(tally=effects.tally(), diff=effects.diff(), sum=effects.sum())

    def proposals(self, form: GridForm) -> Iterable[Proposal]:
        target = Target(self.desk.node)
        given = [
            GrantAccess(target, it.holder, tuple(sorted(it.gives))) for it in form.grid.turns if it.gives
        ]
        removals = [
            RevokeAccess(target, it.holder, tuple(sorted(it.takes))) for it in form.grid.turns if it.takes
        ]
        yield self.desk.herd, [*removals, *given]

    def form_valid(self, form: GridForm) -> HttpResponse:
        if not form.grid.turns and done_before(self.actor) is None:
            self.notes.append(Note("", _("Nothing has changed yet.")))
            return self.show(form, 422)
        return super().form_valid(form)

    def save(self, form: GridForm, actor: Actor) -> None:
        node, reason = self.desk.node, form.cleaned_data["reason"]
        with authorized(GRANT_ADDED, node, GRANTING, by=actor, reason=reason) as authority:
            turns = [_known(turn) for turn in form.grid.turns]
            entries.turn(node, turns, by=actor, authority=authority, seen=form.sent_seen)

    def form_refused(self, form: GridForm, problem: Exception) -> HttpResponse:
        if isinstance(problem, Separated) or not isinstance(problem, Conflict):
            return super().form_refused(form, problem)
        form.look_again = True
        self.notes.append(changed_meanwhile(self.desk.node, form.sent_seen or 0))
        return self.show(form, 409)

    def success_message(self, form: GridForm) -> str:
        names = [turn.holder.label for turn in form.grid.turns]
        return _("%(name)s is changed%(part)s%(names)s") % {
            "name": self.desk.node.name,
            "part": ": " if names else "",
            "names": words.listed(names, 3),
        }

    def may_undo(self) -> bool:
        return True

    def get_success_url(self) -> str:
        """Back to the same page of the list."""
        query = self.request.GET
        kept = {name: query[name] for name in ("q", "after") if query.get(name)}
        return f"{self.back()}?{urlencode(kept)}" if kept else self.back()

    def heading(self, form: GridForm) -> str:
        return self.desk.node.name

    def button(self, form: GridForm) -> str:
        many = len(form.grid.turns) if self.desk.may_grant else 0
        return _("Save %(many)s") % {"many": words.count(many, "entry", "entries")} if many else _("Save")

    def back(self) -> str:
        return reverse("console:namespace", args=[self.desk.node.id])

    def page_context(self, form: GridForm) -> dict[str, Any]:
        if self.preview_only:
            return {}
        posted, grid = self.request.method == "POST", form.grid
        preview = reverse("console:namespace_preview", args=[self.desk.node.id])
        place_in_list = {"q": grid.text, "after": grid.place_in_list.get("after", "")[:300]}
        listing = urlencode({name: value for name, value in place_in_list.items() if value})
        return {
            **head(self.desk, "namespace"),
            "here": self.request.get_full_path() if posted else self.get_success_url(),
            "preview_url": f"{preview}?{listing}",
            **_grid(grid),
            **_below(self.desk),
            "own": _own(self.desk),
        }


def _given_alone(name: str, turns: Iterable[Turn]) -> Diff:
    """What is given, without what anybody has: for viewers who may give but not review."""
    lines = []
    for turn in turns:
        gets = _("gets %(gives)s on %(name)s") % {"gives": labels(turn.gives), "name": name}
        lines.append(DiffLine("gain", turn.holder.label, gets))
    return Diff(tuple(lines))


def _below(desk: HerdContext) -> dict[str, Any]:
    """What the page has below the grid: the steps to a first grant, and what happened last."""
    steps = Steps(desk)
    filter_ = Filter(object=desk.node, kinds=timeline.ABOUT_ACCESS)
    latest = history.page(filter_, history.sight(desk.place.asker, [desk.herd]), limit=4).entries
    return {
        "steps": steps.rows(),
        "steps_done": steps.done,
        "latest": timeline.timeline(timeline.rows(latest)[:6]),
        "history_url": reverse("console:namespace_history", args=[desk.node.id]),
    }


def _known(turn: Turn) -> Turn:
    """The same turn, its holder with a number."""
    if turn.holder.pk:
        return turn
    return Turn(people.ensure(turn.holder.kind, turn.holder.name), turn.gives, turn.takes)


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
        "add": "" if grid.added is not None and not grid.problem else grid.data.get("add", "")[:255],
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
    text = _("%(many)s, by user id") % {"many": words.count(many, "entry", "entries")}
    csv = reverse("console:namespace_csv", args=[grid.desk.node.id])
    return Pager(text, start, next_, f"{csv}?{urlencode(q)}" if q else csv)


def _empty(grid: Grid) -> Empty:
    node = grid.desk.node
    if grid.text:
        every = Action(_("Show all"), reverse("console:namespace", args=[node.id]))
        return Empty(_("No entry matches “%(text)s”") % {"text": grid.text}, drawn=False, actions=(every,))
    return Empty(
        _("Nobody has access to %(name)s yet") % {"name": node.name},
        _("Enter a user id, choose permissions, preview, then save."),
    )


def _locked(desk: HerdContext) -> Reason | None:
    """Why the grid is not the viewer's to change, and who can."""
    if desk.may_grant:
        return None
    lacks = (
        _("the role DATA_OWNER")
        if not desk.is_data_owner
        else _("Grant on %(name)s") % {"name": desk.node.name}
    )
    query = {"who": str(desk.place.asker), "action": "grant", "what": desk.node.ref.id, "type": "namespace"}
    url = f"{reverse('console:why')}?{urlencode(query)}"
    names = [owner.label for owner in desk.own_data_owners]
    admin = desk.administrator
    who = words.listed(names, 3) or (
        _("the administrator, %(label)s") % {"label": admin.label} if admin else _("nobody")
    )
    text = _("You cannot change this: you lack %(lacks)s. %(upper)s%(who)s can.") % {
        "lacks": lacks,
        "upper": who[:1].upper(),
        "who": who[1:],
    }
    return Reason("why-not-grant", text, url, _("See what you lack"))


def _own(desk: HerdContext) -> str:
    if desk.administers:
        return _("Everything, as administrator")
    held = permitted(desk.place.slice, desk.node, desk.place.now.timestamp())
    return labels(held) or _("Nothing")


# The top and the rest


def head(desk: HerdContext, tab: str) -> dict[str, Any]:
    """The name, the fixed numbers and the parts of a namespace's pages."""
    detail = Detail.objects.filter(securable=desk.node.id).first()
    return {
        "crumbs": crumbs(desk, here=False),
        "heading": desk.node.name,
        "kind": _("Namespace"),
        "lead": detail.comment if detail else "",
        "actions": list(_actions(desk)),
        "facts": Facts(tuple(_facts(desk, detail))),
        "tabs": Tabs(
            (
                Tab(
                    _("Permissions"),
                    reverse("console:namespace", args=[desk.node.id]),
                    current=tab == "namespace",
                ),
                Tab(
                    _("History"),
                    reverse("console:namespace_history", args=[desk.node.id]),
                    current=tab == "namespace_history",
                ),
            )
        ),
    }


def _actions(desk: HerdContext) -> Iterable[Action]:
    query = {"who": str(desk.place.asker), "action": "read", "what": desk.node.ref.id, "type": "namespace"}
    yield Action(_("Ask why"), f"{reverse('console:why')}?{urlencode(query)}", "plain", "why")
    if desk.may(DROP):
        yield Action(_("Delete"), reverse("console:namespace_delete", args=[desk.node.id]))


def _facts(desk: HerdContext, detail: Detail | None) -> Iterable[Fact]:
    owners = [owner.label for owner in desk.own_data_owners]
    missing = None if owners else State("behind", _("No data owner"))
    yield Fact(_("Data owners"), words.listed(owners, 3), state=missing)
    yield Fact(_("You may"), _own(desk))
    if desk.may_review:
        entries_ = holders_on(desk.node, now=desk.place.now).count()
        yield Fact(_("Entries"), words.number(entries_))
    charge = (detail.content or {}).get("charge_code") if detail else None
    if charge:
        yield Fact(_("Charge code"), charge)


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
    not_saved = gettext_lazy("Not deleted.")

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
            note = Note(
                "bad",
                _("%(name)s is in use and cannot be deleted.") % {"name": name},
                _("%(in_use)s Remove that first.") % {"in_use": IN_USE},
            )
            return Plan(nothing=True, notes=(note,))
        later = _("A later namespace of this name starts empty.")
        return Plan(diff=Diff((DiffLine("lose", name, _("no longer exists"), later),)))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.desk.herd, [DropObject(self.desk.node)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        node, reason = self.desk.node, form.cleaned_data["reason"]
        with authorized(OBJECT_DROPPED, node, DROP, by=actor, reason=reason) as authority:
            if in_use(node, apart_from=self.asker):  # since it was looked at
                raise Conflict(IN_USE)
            objects.drop(node, by=actor, authority=authority, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        return _("Namespace %(name)s is deleted; its history is kept") % {"name": self.desk.node.name}

    def get_success_url(self) -> str:
        return reverse("console:herd", args=[self.desk.herd.id])

    def heading(self, form: ConfirmForm) -> str:
        return _("Delete namespace %(name)s?") % {"name": self.desk.node.name}

    def lead(self) -> str:
        return terms.place_words(self.desk.node)

    def button(self, form: ConfirmForm) -> str:
        return _("Delete %(name)s") % {"name": self.desk.node.name}

    def back(self) -> str:
        return reverse("console:namespace", args=[self.desk.node.id])
