"""One item that a backend refuses: what it is, why, and three ways out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Note, Reason
from authzsite.console.kit.http import Request, nonce_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.drift.differences import (
    concerned,
    roles_of,
    spoken_of,
    spoken_of_order,
)
from authzsite.console.sync.drift.foreign_grants import ForeignGrantForm
from authzsite.console.sync.drift.stuck_reasons import cause, what_next
from authzsite.console.sync.operations import refused
from catalog.nodes import Node, node, nodes
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import NotFound
from policies.models import BackendFinding, ForeignOrder
from policies.services import grants
from policies.sync.actions import foreign_orders, operations
from policies.sync.differences.items import key_of

NAMED = 3
"""So many objects and people are offered one by one to drop what was decided; of more it is said where."""
OPERATE, GRANT = "why-not-operate", "why-not-grant"
ONLY_GRANTORS = gettext_lazy("Only people who may grant access there can drop what was decided.")


@dataclass(frozen=True)
class WayOut:
    """One way out: what it does, and the buttons of it; `sends`: the button tries at once."""

    id: str
    heading: str
    text: str
    actions: tuple[Action, ...] = ()
    sends: bool = False
    reason: Reason | None = None


@reads_and_writes
@login_required
def stuck_item(request: Request, id: int) -> HttpResponse:
    """What it is and what can be done; a POST has it tried again."""
    row = BackendFinding.objects.filter(pk=id).select_related("backend").first()
    if row is None:
        raise Http404
    order = foreign_orders.ordered([row]).get(row.pk) if row.kind == "foreign" else None
    backend_access = there(request, row.backend_id)
    if (order is None and row.kind not in ("missing", "extra")) or not _may_see(backend_access, row):
        raise Http404
    if request.method != "POST":
        return _show(request, backend_access, row, order)
    if order is not None:
        return redirect("console:sync_deed", id=row.pk, code="retry")
    if not backend_access.may_operate:
        return refused(request, backend_access)
    try:
        operations.retry_finding(
            row.pk, by=Actor(backend_access.place.asker, "console", request_id=nonce_in(request.POST))
        )
        say(request, _("It is tried again"))
    except NotFound:
        say(request, _("It is applied"))
    return redirect("console:sync_backend", id=backend_access.row.pk)


def _may_see(backend_access: BackendAccess, row: BackendFinding) -> bool:
    """Who may look at all of it there, and who may grant on what it is about, as they see it on the board."""
    if backend_access.may_look:
        return True
    about = nodes({int(key) for key in row.concerns or ()} | {row.securable_id or 0})
    return any(ask.ask(backend_access.place.asker, "grant", place) for place in about.values())


def _show(
    request: Request, backend_access: BackendAccess, row: BackendFinding, order: ForeignOrder | None
) -> HttpResponse:
    places = nodes(set(roles_of([row])) | {int(key) for key in row.concerns or ()})
    tried: BackendFinding | ForeignOrder = order or row
    ways = list(_of_order(backend_access, row) if order else _of_finding(backend_access, row, places))
    text = spoken_of_order(order) if order else spoken_of(row, places)
    context: dict[str, Any] = {
        "crumbs": Crumbs(((_("Sync"), reverse("console:sync")), (backend_access.name, backend_access.url))),
        "heading": text,
        "kind": _("Stuck in %(name)s") % {"name": backend_access.name}
        if not row.is_left
        else _("Left as it is in %(name)s") % {"name": backend_access.name},
        "cause": cause(tried, backend_access.row, whole=backend_access.may_operate),
        "next": what_next(tried.error_kind) if tried.attempts else _("It is tried again by itself."),
        "tried": words.moment(tried.tried_at, within=True) if tried.tried_at else "",
        "left": words.moment(row.accepted_until) if row.is_left and row.accepted_until else "",
        "left_reason": row.accepted_reason,
        "ways": ways,
        "reasons": list({way.reason.id: way.reason for way in ways if way.reason}.values()),
        "nonce": nonce_in(request.POST),
        "back": backend_access.url,
    }
    realm = backend_access.place.node.realm
    return page(request, "console/sync/stuck.html", context, section="sync", realm=realm)


def _of_order(backend_access: BackendAccess, row: BackendFinding) -> Iterator[WayOut]:
    """Out of a decision about a foreign right; who may grant on the object decides, and is asked there."""
    place = (node(row.securable_id) if row.securable_id else None) or backend_access.place.node
    reason = (
        None if ask.ask(backend_access.place.asker, "grant", place) else Reason(GRANT, str(ONLY_GRANTORS))
    )

    def action(code: str, word: str, look: str = "") -> tuple[Action, ...]:
        if reason:
            return (Action(word, look=look, reason=reason.id),)
        return (Action(word, reverse("console:sync_deed", args=[row.pk, code]), look),)

    system = {"system": row.backend.get_kind_display()}
    text = _("Once the cause is fixed. It is also tried every hour by itself.")
    yield WayOut("retry", _("Try again"), text, action("retry", _("Try again"), "primary"), reason=reason)
    text = _("What was decided ends. The right stays in %(system)s and waits for a new decision.") % system
    yield WayOut("drop", _("Drop the decision"), text, action("drop", _("Drop the decision")))
    text = _("What was decided ends, and the right is accepted in %(system)s until a date.") % system
    yield WayOut("leave", _("Leave it as it was"), text, action("accept", _("Leave it as it was")))


def _of_finding(
    backend_access: BackendAccess, row: BackendFinding, places: dict[int, Node]
) -> Iterator[WayOut]:
    """Out of a right or membership that is missing there, or that could not be taken."""
    system = {"system": backend_access.row.get_kind_display()}
    reason = None
    if not backend_access.may_operate:
        text = _("The owner of %(name)s or a holder of the sync duty runs its sync.")
        reason = Reason(OPERATE, text % {"name": backend_access.place.node.name})
    locked = reason.id if reason else ""
    text = _("Once the cause is fixed. It is also tried every hour by itself.")
    retry = Action(_("Try again"), "", "primary", reason=locked)
    yield WayOut("retry", _("Try again"), text, (retry,), sends=not locked, reason=reason)
    yield _drop(backend_access, row, [places[int(key)] for key in row.concerns or () if int(key) in places])
    text = (
        _(
            "What was decided stands here, and %(system)s keeps what it has. Until a date it is not tried, "
            "and nobody is notified."
        )
        if row.kind == "missing"
        else _(
            "What was revoked here stays in %(system)s, and jobs there go on using it. Until a date it is "
            "not tried, and nobody is notified."
        )
    )
    url = reverse("console:sync_leave", args=[row.pk])
    leave = Action(_("Leave it as it was"), "" if locked else url, "", reason=locked)
    yield WayOut("leave", _("Leave it as it was"), text % system, (leave,), reason=reason)


def _drop(backend_access: BackendAccess, row: BackendFinding, about: list[Node]) -> WayOut:
    """To the changes by which nothing differs any more: what is missing is revoked, what is extra granted."""
    heading = _("Drop the decision")
    mine = [place for place in about if ask.ask(backend_access.place.asker, "grant", place)]
    if about and not mine:
        reason = Reason(GRANT, str(ONLY_GRANTORS))
        locked = Action(heading, reason=reason.id)
        return WayOut("drop", heading, _("What was decided ends here, too."), (locked,), reason=reason)
    actions = tuple(_changes(row, mine))[:NAMED]
    if not actions:
        url = reverse("console:people")
        text = _("It follows from a role or a group. Change who is in it, or what it gives.")
        return WayOut("drop", heading, text, (Action(_("Open People"), url),))
    text = (
        _("What was decided ends here, too: then nothing is missing there.")
        if row.kind == "missing"
        else _("What was taken is given back here: then nothing is extra there.")
    )
    return WayOut("drop", heading, text, actions)


def _changes(row: BackendFinding, about: list[Node]) -> Iterator[Action]:
    """One for each object and person where that is a direct grant; else the object's page shows the path."""
    kind, _place, holder, _what = key_of(row)
    names = row.people or [holder]
    people = list(Principal.objects.filter(kind__in=("user", "service"), name__in=names[:NAMED]))
    for place in sorted(about, key=lambda item: (-len(item.levels), item.names)):
        codes = (row.concerns or {}).get(str(place.id), [])
        short = {"place": terms.short_name(place)}
        for person in people:
            values = [("who", str(person)), *(("may", code) for code in codes)]
            if kind == "extra":
                url = f"{reverse('console:grant', args=[place.id])}?{urlencode(values)}"
                yield Action(_("Grant it to %(who)s on %(place)s") % {"who": person.label, **short}, url)
            elif grants.direct(place, person).exists():
                url = f"{reverse('console:revoke', args=[place.id])}?{urlencode(values)}"
                yield Action(_("Revoke it from %(who)s on %(place)s") % {"who": person.label, **short}, url)
            else:
                url = f"{reverse('console:object', args=[place.id])}?{urlencode({'q': person.name})}"
                yield Action(_("See how %(who)s has it on %(place)s") % {"who": person.label, **short}, url)
        if not people:
            yield Action(_("Open %(place)s") % short, terms.page_of(place.id, place.type))


class LeaveView(ChangeView):
    """Until when and why; it is shown as left until then, and tried again afterwards."""

    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not left.")
    object: BackendAccess
    finding: BackendFinding

    def get_object(self) -> BackendAccess:
        rows = BackendFinding.objects.filter(pk=self.kwargs["id"], kind__in=("missing", "extra"))
        finding = rows.filter(attempts__gt=0).first()
        if finding is None:
            raise Http404
        self.finding = finding
        backend_access = there(self.request, finding.backend_id)
        if not _may_see(backend_access, finding):
            raise Http404
        return backend_access

    def refusal(self) -> HttpResponse | None:
        return None if self.object.may_operate else refused(self.request, self.object)

    def make_form(self, data: Any) -> ForeignGrantForm:
        return ForeignGrantForm(data, code="accept")

    @property
    def what(self) -> str:
        return concerned([self.finding], nodes(set(roles_of([self.finding]))))

    def plan(self, form: ForeignGrantForm) -> Plan:
        system = {"system": self.object.row.get_kind_display()}
        if self.finding.kind == "extra":
            text = _("stays in %(system)s, though it was revoked here") % system
            note = _("Its holders there can use it until the date. Then revoking it is tried again.")
        else:
            text = _("stays missing in %(system)s") % system
            note = _("What was decided stands here. After the date it is tried again.")
        return Plan(diff=Diff((DiffLine("same", self.what, text, note),)))

    def save(self, form: ForeignGrantForm, actor: Actor) -> BackendFinding:
        typed = form.cleaned_data
        return operations.leave(self.finding.pk, typed["until"], by=actor, reason=typed["reason"])

    def note_of(self, form: ForeignGrantForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: ForeignGrantForm) -> str:
        until = words.moment(form.cleaned_data["until"])
        return _("Left as it is until %(until)s") % {"until": until}

    def may_undo(self) -> bool:
        return False

    def heading(self, form: ForeignGrantForm) -> str:
        return _("Leave it unchanged in %(name)s?") % {"name": self.object.name}

    def button(self, form: ForeignGrantForm) -> str:
        return _("Leave it as it was")

    def back(self) -> str:
        return reverse("console:sync_stuck", args=[self.finding.pk])

    def page_context(self, form: ForeignGrantForm) -> dict[str, Any]:
        crumbs = ((_("Sync"), reverse("console:sync")), (self.object.name, self.object.url))
        return {"crumbs": Crumbs(crumbs), "look": "primary", "keep": _("Back")}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        realm = self.object.place.node.realm
        return page(self.request, self.template_name, context, section="sync", realm=realm, status=status)
