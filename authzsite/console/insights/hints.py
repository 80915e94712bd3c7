"""The list of hints: where access could be tighter, for those who may change it or review it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.insights.access import actor
from authzsite.console.insights.hint_rows import Drawing, about_words, reasons
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Empty
from authzsite.console.kit.http import Request, asker_of, number_in, two_numbers_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.downloads import csv_file
from catalog.nodes import Node
from policies.analytics.hint_kinds import KINDS
from policies.analytics.hints import HintList, HintView, Place
from policies.analytics.pipelines import control
from policies.decisions.lookups.visible_objects import realms_of
from policies.models import PipelineRun
from policies.services.grants import revision_now

SHOWN, CHUNK = 30, 1000
NAME = "unused_grants"


@dataclass(frozen=True)
class HintFilter:
    """What the address asks for: one realm or all, one kind or all, open or dismissed, after which one."""

    realm: int
    kind: str
    dismissed: bool
    after: Place | None

    def among(self, realms: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(realm for realm in realms if not self.realm or realm.id == self.realm)

    def url(self, **changed: object) -> str:
        kept = {
            "in": self.realm,
            "kind": self.kind,
            "show": "dismissed" if self.dismissed else "",
            **changed,
        }
        return "?" + urlencode({name: value for name, value in kept.items() if value})


def _asked(request: Request) -> HintFilter:
    kind = request.GET.get("kind", "")
    return HintFilter(
        number_in(request.GET.get("in", "")) or 0,
        kind if kind in KINDS else "",
        request.GET.get("show", "") == "dismissed",
        two_numbers_in(request.GET.get("after", "")),
    )


@reads
@login_required
def hint_list(request: Request) -> HttpResponse:
    """Every hint that the viewer may see, those first that concern most people."""
    asker, filter_ = asker_of(request), _asked(request)
    realms = realms_of(asker)
    chosen = filter_.among(realms)
    hints = HintList(chosen, actor(asker), filter_.dismissed)
    counts = hints.counts()
    shown, pager = _page_of(hints, counts, filter_)
    lines = list(map(Drawing.by(asker, chosen).line, shown))
    runs = _runs(chosen)
    context: dict[str, Any] = {
        "heading": _heading(counts, filter_),
        "lead": _("Access that may no longer be needed. Nothing changes until you act."),
        "toggles": _kinds(counts, filter_),
        "realms": _realms(realms, filter_),
        "switch": _switch(filter_),
        "lines": lines,
        "dismissed": filter_.dismissed,
        "reasons": reasons(lines),
        "pager": pager,
        "looked": [(item.name, runs.get(item.realm_id)) for item in chosen],
        "empty": _nothing(asker, chosen, filter_, found=bool(counts), looked=bool(runs)),
        "here": request.get_full_path(),
    }
    realm = chosen[0].name if len(chosen) == 1 else ""
    return page(
        request, "console/insights/hints.html", context, section="hints", realm=realm, revision=revision_now()
    )


def _page_of(
    found: HintList, counts: Mapping[str, int], filter_: HintFilter
) -> tuple[Sequence[HintView], Pager]:
    """Those behind the place that the address names."""
    rows = found.page(SHOWN + 1, kind=filter_.kind, after=filter_.after)
    shown = rows[:SHOWN]
    last = shown[-1].row if len(rows) > SHOWN else None
    next_ = filter_.url(after=f"{last.people}.{last.pk}") if last else ""
    many = counts.get(filter_.kind, 0) if filter_.kind else sum(counts.values())
    text = _("%(many)s, those that concern most people first") % {"many": words.count(many, "hint")}
    csv = reverse("console:hints_csv") + filter_.url()
    return shown, Pager(text, filter_.url() if filter_.after else "", next_, csv)


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """The same hints to their end."""
    asker, filter_ = asker_of(request), _asked(request)
    hints = HintList(filter_.among(realms_of(asker)), actor(asker), filter_.dismissed)
    head = ["object", "type", "hint", "about", "why", "people", "revision", "first found", "last found"]
    return csv_file.answer("hints", [*head, "dismissed", "reason"], _lines(hints, filter_.kind))


def _lines(found: HintList, kind: str) -> Iterator[list[object]]:
    after: Place | None = None
    while rows := found.page(CHUNK, kind=kind, after=after):
        for item in rows:
            row = item.row
            times = [moment.isoformat() if moment else "" for moment in (row.found, row.seen, row.dismissed)]
            about = [item.node.ref.id, item.node.type, item.label, about_words(item), item.ground, row.people]
            yield [*about, row.revision, *times, row.reason]
        after = (rows[-1].row.people, rows[-1].row.pk)


def _heading(counts: Mapping[str, int], filter_: HintFilter) -> str:
    many = sum(counts.values())
    text = (
        ngettext("%(many)s dismissed hint", "%(many)s dismissed hints", many)
        if filter_.dismissed
        else ngettext("%(many)s hint", "%(many)s hints", many)
    )
    return text % {"many": words.spelled(many)}


def _kinds(counts: Mapping[str, int], filter_: HintFilter) -> tuple[Toggle, ...]:
    every = Toggle(_("All"), filter_.url(kind=""), not filter_.kind, words.number(sum(counts.values())))
    return (
        every,
        *(
            Toggle(
                _(kind.label), filter_.url(kind=code), filter_.kind == code, words.number(counts.get(code, 0))
            )
            for code, kind in KINDS.items()
            if code in counts or filter_.kind == code
        ),
    )


def _realms(realms: Sequence[Node], filter_: HintFilter) -> tuple[Toggle, ...]:
    if len(realms) < 2:
        return ()
    every = Toggle(_("Every realm"), filter_.url(**{"in": ""}), not filter_.realm)
    return (
        every,
        *(Toggle(realm.name, filter_.url(**{"in": realm.id}), filter_.realm == realm.id) for realm in realms),
    )


def _switch(filter_: HintFilter) -> Action:
    if filter_.dismissed:
        return Action(_("Show open hints"), filter_.url(show="", kind=""), "plain")
    return Action(_("Show dismissed"), filter_.url(show="dismissed", kind=""), "plain")


@dataclass(frozen=True)
class LastRun:
    """When a realm was last looked through."""

    text: str
    url: str = ""


def _runs(realms: Sequence[Node]) -> dict[int | None, LastRun]:
    """Revision and age of the last good look at each.  One query."""
    rows = PipelineRun.objects.filter(realm__in=[realm.realm_id for realm in realms], name=NAME, state="done")
    latest = rows.order_by("realm", "-revision").distinct("realm")
    return {
        row.realm_id: LastRun(
            _("revision %(revision)s, %(ago)s")
            % {"revision": words.number(row.revision), "ago": words.ago(row.ended or row.asked)}
        )
        for row in latest
    }


def _nothing(
    asker: Principal, realms: Sequence[Node], filter_: HintFilter, *, found: bool, looked: bool
) -> Empty | None:
    if found:
        return Empty(
            _("No hint matches"), drawn=False, level=2, actions=(Action(_("Show all"), filter_.url(kind="")),)
        )
    if filter_.dismissed:
        return Empty(
            _("Nothing was dismissed"),
            _("Dismissed hints are listed here with their reasons."),
            level=2,
        )
    if looked:
        text = _("No unused, duplicate or ownerless access that you may change.")
        return Empty(_("Nothing to tighten"), text, level=2)
    text = _("The pipeline Least privilege checks each night, or when someone starts it.")
    by = actor(asker)
    starts = any(control.may_run(by, realm) for realm in realms)
    way = (Action(_("Open the pipelines"), reverse("console:pipelines"), "primary"),) if starts else ()
    return Empty(_("Not checked yet"), text, actions=way, level=2)
