"""One backend: its state, its plan, its runs, what is parked, and the controls of who may run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Count, Max
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Fact, Facts, Note, Reason
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.sync.backend_state import MOST_ASKED, BackendState, left_in, stuck_in, waiting_for
from authzsite.console.sync.drift.differences import board, roles_of, spoken_of, spoken_of_order
from authzsite.console.sync.drift.stuck_reasons import cause, what_next
from authzsite.console.sync.runs import RunProgress, Step, going, run_lines, steps_of
from authzsite.console.sync.views import troubled
from catalog.queries import nodes
from policies.models import Backend, BackendFinding, OutboxEntry, SyncRun
from policies.sync.actions import foreign_orders, operations
from policies.sync.differences import items

RUNS = 20
IN_SYNC, BEHIND = Backend.State.IN_SYNC, Backend.State.BEHIND
COUNTED = (
    (gettext_lazy("In sync"), ("in_sync",)),
    (gettext_lazy("Differs"), ("missing", "extra")),
    (gettext_lazy("Granted outside"), ("foreign",)),
    (gettext_lazy("Unknown"), ("unknown",)),
    (gettext_lazy("Bypass"), ("bypass",)),
)
AWAITS = {
    Backend.Awaits.NEW: gettext_lazy("It was connected by someone who is not a site admin."),
    Backend.Awaits.MOVED: gettext_lazy(
        "It connects to a different system than before, even if the address is the same."
    ),
    Backend.Awaits.SHARED: gettext_lazy(
        "Another connection governs the same system, or a part of it. Two that repair the same system "
        "undo each other’s decisions."
    ),
}
"""Why it only reports until a site admin agrees."""
ALWAYS = (gettext_lazy("In sync"), gettext_lazy("Differs"), gettext_lazy("Granted outside"))


@dataclass(frozen=True)
class Stuck:
    """One item that waits for somebody: what it is, why it was refused, and where its ways out are."""

    what: str
    since: str
    error: str
    url: str = ""


@dataclass
class BackendAccess:
    """A backend that the asker may see, with what they may do to its sync."""

    place: ObjectAccess
    row: Backend

    @cached_property
    def may_operate(self) -> bool:
        return operations.may_operate(self.place.actor, self.place.node)

    @property
    def may_look(self) -> bool:
        return self.may_operate or self.place.may_look

    @property
    def name(self) -> str:
        return f"{self.row.get_kind_display()} {self.place.node.name}"

    @cached_property
    def behind(self) -> BackendState:
        key = self.row.pk
        waiting, stuck, left = waiting_for([key]), stuck_in([key]), left_in([self.row])
        return BackendState(self.row, waiting.get(key, 0), stuck.get(key, 0), left=left.get(key, 0))

    @cached_property
    def latest(self) -> SyncRun | None:
        return SyncRun.objects.filter(backend=self.row).order_by("-pk").first()

    @property
    def url(self) -> str:
        return reverse("console:sync_backend", args=[self.row.pk])

    def address(self, deed: str) -> str:
        return reverse("console:sync_operate", args=[self.row.pk, deed])


def there(request: Request, id: int) -> BackendAccess:
    """The backend of that number; the same Http404 when it is absent and when its catalog is hidden."""
    row = Backend.objects.filter(pk=id).select_related("paused_by").first()
    if row is None:
        raise Http404
    return BackendAccess(get_object_or_404(request, row.catalog_id), row)


@reads
@login_required
def backend_detail(request: Request, id: int) -> HttpResponse:
    """What is true of it, what would be done, what was done."""
    backend_access = there(request, id)
    reason = _reason(backend_access)
    context: dict[str, Any] = {
        "crumbs": Crumbs(((_("Sync"), reverse("console:sync")),)),
        "heading": backend_access.name,
        "lead": _lead(backend_access),
        "controls": [] if reason else list(_controls(backend_access)),
        "actions": list(_doors(backend_access, reason)),
        "reason": reason,
        **_standing(backend_access, 1),
        **(
            _inside(backend_access, request.GET)
            if backend_access.may_look
            else {"hidden": _hidden(backend_access)}
        ),
    }
    node = backend_access.place.node
    return page(
        request,
        "console/sync/backend.html",
        context,
        section="sync",
        realm=node.realm,
        revision=backend_access.place.slice.revision,
    )


@reads
@login_required
def progress(request: Request, id: int) -> HttpResponse:
    """How far the run is that goes on, asked again and again."""
    backend_access = there(request, id)
    context = {"going": _going(backend_access), "progress_url": request.get_full_path()}
    return render(request, "console/sync/progress.html", context)


@reads
@login_required
def standing(request: Request, id: int) -> HttpResponse:
    """How it stands, asked again until it has settled; then its page reads its lists again."""
    backend_access = there(request, id)
    times_asked = number_in(request.GET.get("n", "")) or 0
    answer = render(request, "console/sync/standing.html", _standing(backend_access, times_asked + 1))
    if not _moves(backend_access):
        answer["HX-Trigger"] = "settled"
    return answer


def _standing(backend_access: BackendAccess, times_asked: int) -> dict[str, Any]:
    url = reverse("console:sync_standing", args=[backend_access.row.pk])
    follows = times_asked <= MOST_ASKED and _moves(backend_access)
    return {
        "note": _note(backend_access),
        "facts": Facts(tuple(_facts(backend_access))),
        "going": _going(backend_access),
        "progress_url": reverse("console:sync_progress", args=[backend_access.row.pk]),
        "follow_url": f"{url}?n={times_asked}" if follows else "",
    }


def _moves(backend_access: BackendAccess) -> bool:
    """Whether decisions are on their way there; none is while it is paused, held or cannot be reached."""
    return backend_access.row.state in (IN_SYNC, BEHIND) and not backend_access.behind.settled


def _going(backend_access: BackendAccess) -> RunProgress | None:
    """How far a run is that goes on; it counts what is hidden from those who merely use the catalog."""
    run = backend_access.latest if backend_access.may_look else None
    return going(run, backend_access.row) if run else None


def _lead(backend_access: BackendAccess) -> str:
    if backend_access.row.does == Backend.Policy.REPORT:
        return _("It only reports: differences are shown, and nothing is changed in the backend.")
    return _("Decisions are applied there and read back; grants made there by others stay.")


def _reason(backend_access: BackendAccess) -> Reason | None:
    if backend_access.may_operate:
        return None
    text = _("The owner of %(name)s or a holder of the sync duty runs its sync.") % {
        "name": backend_access.place.node.name
    }
    return Reason("why-not-operate", text)


def _controls(backend_access: BackendAccess) -> Iterable[Action]:
    """What a button does at once."""
    if backend_access.row.state == Backend.State.PAUSED:
        yield Action(_("Resume"), backend_access.address("resume"), "primary")
        return
    yield Action(_("Check now"), backend_access.address("look"), "")
    if backend_access.row.policy == Backend.Policy.REPAIR:
        yield Action(_("Only report"), backend_access.address("report"), "")


def _doors(backend_access: BackendAccess, reason: Reason | None) -> Iterable[Action]:
    """What is asked back first, on a page of its own."""
    yield Action(_("Objects and owners"), reverse("console:discover", args=[backend_access.row.pk]), "plain")
    if reason:
        yield Action(_("Pause"), reason=reason.id)
        return
    if backend_access.row.state != Backend.State.PAUSED:
        yield Action(_("Pause"), backend_access.address("pause"), "", "pause")
    if backend_access.row.state == Backend.State.HELD:
        yield Action(_("See what it removes"), backend_access.address("confirm"), "primary")
    if backend_access.row.policy == Backend.Policy.REPORT:
        yield Action(_("Repair from now on"), backend_access.address("repair"), "primary")


def _paused(row: Backend) -> str:
    """Paused by Olivia until Fri 4 Dec, 18:00."""
    by = row.paused_by.label if row.paused_by else ""
    until = words.moment(row.paused_until) if row.paused_until else ""
    if by:
        text = _("Paused by %(label)s until %(until)s.") if until else _("Paused by %(label)s.")
    else:
        text = _("Paused until %(until)s.") if until else _("Paused.")
    return text % {"label": by, "until": until}


def _note(backend_access: BackendAccess) -> Note | None:
    row, run = backend_access.row, backend_access.latest
    if row.state == Backend.State.PAUSED:
        return Note(
            "warn",
            _paused(row),
            _("Decisions are kept and applied when it is resumed."),
        )
    if row.awaits:
        heading = _("It only reports until a site admin of this site agrees.")
        return Note("warn", heading, f"{AWAITS[Backend.Awaits(row.awaits)]} {site_admins.admin_names()}")
    if row.restored:
        text = _("Check the plan: access revoked since the backup must not come back. Then choose Repair.")
        return Note(
            "warn",
            _("The console's database was restored to an earlier state, so nothing is changed here."),
            text,
        )
    if row.state == Backend.State.HELD and run:
        losing = words.count(run.losing, "person", "people") if backend_access.may_look else _("many people")
        text = _("It may be a mistake, so it waits until someone has reviewed it.")
        return Note("warn", _("Held: the plan revokes something from %(losing)s.") % {"losing": losing}, text)
    if row.error:
        text = what_next(row.error_kind, _("Decisions are kept and applied when it works again."))
        answer = _("%(system)s answered: %(error)s") % {
            "system": row.get_kind_display(),
            "error": row.error[:300],
        }
        return Note("bad", answer if backend_access.may_operate else troubled(backend_access.behind), text)
    return None


def _facts(backend_access: BackendAccess) -> Iterable[Fact]:
    row, counts = backend_access.row, backend_access.row.counts
    proved = words.ago(row.proved_at, within=True) if row.proved_at else _("not yet")
    revision = (
        _("revision %(proved_revision)s") % {"proved_revision": words.number(row.proved_revision)}
        if row.proved_at
        else ""
    )
    yield Fact(
        _("State"),
        state=backend_access.behind.state() if backend_access.may_look else backend_access.behind.plainly(),
    )
    yield Fact(_("What it does"), _("Repairs") if row.does == Backend.Policy.REPAIR else _("Only reports"))
    yield Fact(_("Proved equal"), proved, note=revision)
    if row.compared_at:
        yield Fact(_("All compared"), words.ago(row.compared_at, within=True), note=_("and each night"))
    if counts.get("in_force"):
        yield Fact(_("In force"), counts["in_force"])
    for word, names in COUNTED if backend_access.may_look else ():
        many = sum(int(counts.get(name, 0)) for name in names)
        if many or word in ALWAYS:
            yield Fact(word, words.number(many))
    url = "" if _reason(backend_access) else backend_access.address("rate")
    yield Fact(
        _("Pace"),
        _("%(rate)s a second") % {"rate": words.number(row.rate)} if row.rate else _("No limit"),
        url,
    )
    share = "" if _reason(backend_access) else backend_access.address("share")
    held = (
        _("When over %(share)s %% of the people lose access") % {"share": row.share}
        if row.share < 100
        else _("Never")
    )
    yield Fact(_("Held for confirmation"), held, share)


def _inside(backend_access: BackendAccess, filters: Mapping[str, str]) -> dict[str, Any]:
    plan = _plan(backend_access)
    ids = [backend_access.row.pk] if backend_access.may_operate else []
    rows = BackendFinding.objects.filter(backend=backend_access.row)
    differs = board(
        rows, filters, may=backend_access.place.may_grant, whole=ids, by=backend_access.place.actor
    )
    lines = run_lines(backend_access.row, RUNS)
    return {
        **differs.context(Empty(_("Nothing differs"), "", drawn=False)),
        "stuck": _stuck(backend_access),
        "retry": backend_access.address("retry")
        if backend_access.may_operate and operations.something_failed(backend_access.row)
        else "",
        "plan": plan,
        "plan_text": _plan_text(backend_access),
        "no_plan": _no_plan(backend_access),
        "runs": lines,
        "runs_url": reverse("console:sync_runs", args=[backend_access.row.pk]),
        "no_runs": Empty(_("It was not compared yet"), _("That happens every minute."), drawn=False),
        "runs_pager": Pager(
            ngettext("The last run", "The last %(number)s runs", len(lines) or 1)
            % {"number": words.number(len(lines))}
        ),
    }


def _plan(backend_access: BackendAccess) -> list[Step]:
    waits = backend_access.latest and backend_access.latest.state in (SyncRun.State.SHOWN, SyncRun.State.HELD)
    return steps_of(backend_access.latest, backend_access.row) if backend_access.latest and waits else []


def _no_plan(backend_access: BackendAccess) -> Empty:
    if backend_access.latest and backend_access.latest.state in (
        SyncRun.State.UNPROVED,
        SyncRun.State.FAILED,
    ):
        text = _("The last run shows the error. It is tried again.")
        return Empty(_("Every change was tried"), text, drawn=False)
    return Empty(_("Nothing to do"), _("At the last check, the backend matched the decisions."), drawn=False)


def _plan_text(backend_access: BackendAccess) -> str:
    run = backend_access.latest
    if run is None or not _plan(backend_access):
        return ""
    text = (
        _("%(total)s; %(removals)s are removed, affecting %(losing)s. Checked %(seen)s.")
        if run.losing
        else _("%(total)s; nobody loses anything. Checked %(seen)s.")
    )
    return text % {
        "total": words.count(run.total, "step"),
        "removals": words.count(run.removals, "right or membership", "rights and memberships"),
        "losing": words.count(run.losing, "person", "people"),
        "seen": words.ago(run.ended, within=True) if run.ended else "",
    }


def _stuck(backend_access: BackendAccess) -> list[Stuck]:
    """What waits for somebody, one by one, and what could not be compared at all."""
    row, whole, keys = backend_access.row, backend_access.may_operate, [backend_access.row.pk]
    findings, orders = items.stuck_findings(keys)[:RUNS], items.stuck_orders(keys)[:RUNS]
    places = nodes(set(roles_of(findings)) | {each.securable_id for each in findings if each.securable_id})
    stuck = [
        Stuck(
            spoken_of(each, places),
            _since(each.tried_at),
            cause(each, row, whole=whole),
            reverse("console:sync_stuck", args=[each.pk]),
        )
        for each in findings
    ]
    about = foreign_orders.findings_of(orders)
    for order in orders:
        at = about.get(order.pk)
        url = reverse("console:sync_stuck", args=[at]) if at else ""
        stuck.append(
            Stuck(spoken_of_order(order), _since(order.tried_at), cause(order, row, whole=whole), url)
        )
    return [*stuck, *_parked(row, whole=whole)]


def _since(moment: datetime | None) -> str:
    return _("tried %(moment)s") % {"moment": words.moment(moment, within=True)} if moment else ""


def _parked(row: Backend, *, whole: bool) -> list[Stuck]:
    rows = OutboxEntry.objects.filter(backend=row, parked=True).values("error", "error_kind")
    grouped = rows.annotate(many=Count("pk"), since=Max("parked_at")).order_by("-many")
    system = row.get_kind_display()
    return [
        Stuck(
            _("%(item)s decided since then") % {"item": words.count(item["many"], "change")},
            _since(item["since"]),
            " ".join(
                [
                    _("%(system)s cannot be synced. %(next)s")
                    % {"system": system, "next": what_next(item["error_kind"])},
                    _("%(system)s answered: %(error)s") % {"system": system, "error": item["error"]}
                    if whole
                    else "",
                ]
            ).strip(),
        )
        for item in grouped[:RUNS]
    ]


def _hidden(backend_access: BackendAccess) -> Empty:
    return Empty(
        _("You cannot see the details"),
        _("Plan and runs name people; only people who run the sync or may grant on the catalog see them."),
        drawn=False,
        level=2,
    )
