"""An object's pages: who has access and how, the rules, the history, the sync, the columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.as_of.header import head_of
from authzsite.console.cdap.links import page_of_name
from authzsite.console.history import timeline
from authzsite.console.history import views as history_views
from authzsite.console.insights.object_hints import on_object
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Empty, Reason, State
from authzsite.console.kit.display.tables import in_chunks
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.console.objects import rules, uses
from authzsite.console.objects.access import get_object_or_404, get_past_object_or_404
from authzsite.console.objects.access_table import SHOWN, AccessTableFilter, ends_of
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.sync import applied
from authzsite.console.sync import views as sync_views
from authzsite.console.sync.backend_state import MOST_ASKED, BackendState, behind, whose
from authzsite.downloads import csv_file
from policies.record import access_log
from policies.sync.status import status_on


def _asked(request: Request) -> AccessTableFilter:
    return AccessTableFilter(
        text=request.GET.get("q", "").strip()[:255],
        how=request.GET.get("how", ""),
        group=request.GET.get("group", "")[:255],
        after=number_in(request.GET.get("after", "")) or 0,
    )


def _page(request: Request, template: str, head: ObjectHeader, context: dict[str, Any]) -> HttpResponse:
    return page(
        request,
        template,
        {**head.context(), **context},
        section="catalog",
        realm=head.node.realm,
        revision=head.place.slice.revision,
        banner=head.banner(),
    )


@reads
@login_required
def access(request: Request, id: int) -> HttpResponse:
    """Who has access, and how."""
    place = get_object_or_404(request, id)
    if named := page_of_name(place.node):
        return redirect(named)
    if place.node.type in terms.ROOMS:
        return redirect(terms.page_of(id, place.node.type))
    head = ObjectHeader(place, "object", _asked(request))
    if not place.may_look:
        access_ = head.who_has.map.access_of(head.place.asker)
        own = {
            "can": terms.can(access_.can, head.node.type, owns=access_.owns),
            "paths": terms.paths((path.rule for path in access_.paths), head.node, head.who_has.labels),
            "others": Reason(
                "others",
                _("People who may grant access see who else has it: %(owner_words)s.")
                % {"owner_words": head.owner_words()},
            ),
            **_beside(head),
        }
        return _page(request, "console/objects/own.html", head, own)
    access_log.looked(place.asker, "access", place.node, via="console")
    return _page(request, "console/objects/access.html", head, _access(head))


def _access(head: ObjectHeader) -> dict[str, Any]:
    who_has = head.who_has
    who_has.since = timeline.moments_of(who_has.revisions())
    if head.there is not None:
        grants = who_has.grants()
        who_has.applied = dict(zip(grants, applied.of(list(grants.values())), strict=True))
    who_has.used = uses.lines(head.node, who_has.people_of())
    rows = who_has.rows()
    more = who_has.asked.after + SHOWN
    return {
        "rows": rows,
        "reasons": tuple(who_has.locked.values()),
        "asked": who_has.asked.text,
        "how": who_has.asked.how,
        "toggles": who_has.toggles(),
        "summary": who_has.summary(),
        "next": who_has.asked.url(after=more) if more < len(who_has.wanted) else "",
        "csv": reverse("console:object_csv", args=[head.node.id]),
        "used": bool(who_has.used),
        "uses_url": reverse("console:object_uses", args=[head.node.id]),
        "empty": _nobody(head),
        **_beside(head),
        **on_object(head.place),
        **_applied(head),
    }


def _applied(head: ObjectHeader) -> dict[str, str]:
    """Applied to 41 of 42 people; who has no login there, or has to wait, by name."""
    if head.there is None or not head.there.row.proved_at:
        return {}
    people = {
        person.name: person.label for person in head.who_has.map.people.values() if _has_access(head, person)
    }
    status = status_on(head.there.row, head.node, people)
    if not people or status.applied == status.of:
        return {}
    parts = [
        _("Applied to %(applied)s of %(of)s.")
        % {"applied": words.number(status.applied), "of": words.count(status.of, "person", "people")}
    ]
    for names, why in (
        (status.waiting, _("On the way")),
        (status.without_login, _("No login in %(system)s") % {"system": head.there.system}),
    ):
        if names:
            parts.append(f"{why}: {words.listed([people[name] for name in names], 5)}.")
    return {"sync_note": " ".join(parts)}


def _has_access(head: ObjectHeader, principal: Principal) -> bool:
    access_ = head.who_has.map.access_of(principal)
    return bool(access_.can or access_.owns)


def _nobody(head: ObjectHeader) -> Empty:
    filter_ = head.who_has.asked
    if filter_.text or filter_.how or filter_.group:
        heading = _("None of %(all)s matches") % {"all": words.number(len(head.who_has.all))}
        actions = (Action(_("Show all"), "?"), Action(_("Ask why"), reverse("console:why"), "plain", "why"))
        text = _("People not listed here may have no access. Why shows what they lack.")
        return Empty(
            f"{heading} {words.quoted(filter_.text)}" if filter_.text else heading,
            text,
            drawn=False,
            actions=actions,
        )
    return Empty(
        _("Nobody has access to %(name)s yet") % {"name": head.node.name},
        _("Grant to a person for a short time, to a group for a lasting need."),
    )


def _beside(head: ObjectHeader) -> dict[str, Any]:
    backend_state = head.there
    return {
        "sync_state": backend_state.state()
        if backend_state
        else State("unknown", _("Not synced to a backend")),
        "sync_note": _sync_note(backend_state),
        "foreign_note": _foreign_note(head),
        "sync_url": reverse("console:object_sync", args=[head.node.id]) if backend_state else "",
        "history_url": reverse("console:object_history", args=[head.node.id]),
        "latest": timeline.timeline(head.latest),
        "latest_empty": _("Nothing that you can see has changed."),
    }


def _sync_note(backend_state: BackendState | None) -> str:
    if backend_state is None:
        return ""
    if backend_state.whole:
        return _("Every right decided here was applied and read back.")
    if backend_state.row.state in ("failed", "paused", "silent"):
        return _("Decisions are kept and applied when it is back; nobody gains access until then.")
    if backend_state.settled:
        return _("Some decisions are not applied there. Sync shows which, and why.")
    return _("Decisions are on their way there.")


def _foreign_note(head: ObjectHeader) -> str:
    foreign = len(head.foreign) if head.there else 0
    if not foreign:
        return ""
    return ngettext(
        "%(foreign)s holder with a grant made outside Lakewarden is left unchanged.",
        "%(foreign)s holders with grants made outside Lakewarden are left unchanged.",
        foreign,
    ) % {"foreign": words.spelled(foreign)}


@reads
@login_required
def rules_tab(request: Request, id: int) -> HttpResponse:
    """Every rule on the object and above it."""
    place = get_object_or_404(request, id)
    if named := page_of_name(place.node):
        return redirect(named)
    if place.node.type in terms.ROOMS:
        return redirect(terms.page_of(id, place.node.type))
    head = ObjectHeader(place, "object_rules")
    if not place.may_look:
        hidden = Empty(
            _("%(what)s of %(name)s are hidden from you") % {"what": _("The rules"), "name": head.node.name},
            _("They are visible to people who may grant it: %(owner_words)s.")
            % {"owner_words": head.owner_words()},
        )
        return _page(request, "console/objects/hidden.html", head, {"hidden": hidden})
    after = _asked(request).after
    grants = rules.grants_on(place.node)
    many, shown = len(grants), rules.rows(place.node, grants[after : after + rules.SHOWN])
    listed = ShownList.of(request, rules.TABLE)
    next_ = listed.url(after=after + rules.SHOWN) if after + rules.SHOWN < many else ""
    context = {
        "table": listed.page(shown),
        "options": listed.options(),
        "pager": Pager(
            _("%(many)s, nearest first") % {"many": words.count(many, "rule")},
            listed.url() if after else "",
            next_,
            reverse("console:rules_csv", args=[id]),
        ),
        "empty": Empty(_("No rule applies to it"), _("Only owners have access.")),
    }
    return _page(request, "console/objects/rules.html", head, context)


@reads
@login_required
def history_tab(request: Request, id: int) -> HttpResponse:
    """What changed on the object and below it."""
    place = get_past_object_or_404(request, id)
    if place.node.type == "namespace" and not place.only_past:
        return redirect("console:namespace_history", id=id)
    head = head_of(place, "object_history")
    shown = history_views.shown(request, place.asker, [head.root], place.node)
    return _page(request, "console/objects/history.html", head, shown)


@reads
@login_required
def sync_tab(request: Request, id: int) -> HttpResponse:
    """Whether what was decided is true in the backend."""
    place = get_object_or_404(request, id)
    head = ObjectHeader(place, "object_sync")
    if head.there is None:
        raise Http404
    return _page(
        request, "console/objects/sync.html", head, sync_views.object_sync(head.there, place, request.GET)
    )


@reads
@login_required
def columns_tab(request: Request, id: int) -> HttpResponse:
    """The columns, in their order."""
    place = get_object_or_404(request, id)
    head = ObjectHeader(place, "object_columns")
    shown = list(head.detail.columns) if head.detail else []
    empty = Empty(_("No columns are known"), _("They are read at the next discovery."))
    return _page(request, "console/objects/columns.html", head, {"rows": shown, "empty": empty})


@reads
@login_required
def state(request: Request, id: int) -> HttpResponse:
    """The sync state alone, asked again while it catches up."""
    place = get_object_or_404(request, id)
    backend_state = behind(place.node, whose(place))
    now = backend_state.state() if backend_state else None
    times_asked = number_in(request.GET.get("n", "")) or 0
    again_url = _next_url(request, times_asked + 1) if times_asked < MOST_ASKED else ""
    context: dict[str, Any] = {"there": backend_state, "state_url": again_url, "state": now}
    if "words" in request.GET:  # the page says the same in a second place
        context |= {"again": True, "sync_state": now, "sync_note": _sync_note(backend_state)}
    answer = render(request, "console/objects/state.html", context)
    if backend_state is None or backend_state.settled:
        answer["HX-Trigger"] = "settled"  # the lines of the page are read again, with what has come of each
    return answer


def _next_url(request: Request, times_asked: int) -> str:
    more = request.GET.copy()
    more["n"] = str(times_asked)
    return f"{request.path}?{more.urlencode()}"


@reads
@login_required
def rules_csv(request: Request, id: int) -> HttpResponseBase:
    """Every rule on an object and above it, with its holder."""
    place = get_object_or_404(request, id)
    if not place.may_look:
        raise Http404
    access_log.looked(place.asker, "rules as a file", place.node, via="console")
    grants = rules.grants_on(place.node)
    return rules.TABLE.file(f"rules-{id}", in_chunks(grants, lambda some: rules.rows(place.node, some)))


@reads
@login_required
def access_csv(request: Request, id: int) -> HttpResponseBase:
    """Everybody with access as a file: one line a person, groups unfolded."""
    place = get_object_or_404(request, id)
    if not place.may_look:
        raise Http404
    access_log.looked(place.asker, "access as a file", place.node, via="console")
    head = ["object", "principal", "name", "can", "how", "ends"]
    return csv_file.answer(f"access-{place.node.id}", head, _csv_lines(ObjectHeader(place, "object")))


def _csv_lines(head: ObjectHeader) -> Iterator[list[object]]:
    people = sorted(head.who_has.map.people.values(), key=lambda person: (person.label.casefold(), person.pk))
    for person in people:
        access_ = head.who_has.map.access_of(person)
        ways = terms.paths((path.rule for path in access_.paths), head.node, head.who_has.labels)
        how = "; ".join(" > ".join(chip.text for chip in way.chips) for way in ways)
        when = terms.from_seconds(ends_of(access_))
        can = terms.can(access_.can, head.node.type, owns=access_.owns)
        yield [head.node.ref.id, person, person.label, can, how, when.isoformat() if when else ""]
