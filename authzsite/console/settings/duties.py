"""The console's own duties on an object: who has which, here and from above; giving and taking them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Empty, Note, Reason, Verdict, Who
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import Circle, circle_of
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.objects.access import Place, visit
from authzsite.console.objects.header import Head
from authzsite.console.people import group_members
from authzsite.console.roles.views import nonce_in
from catalog.models import Securable
from catalog.queries import node as find_node
from policies.authority import Actor
from policies.decisions import site_permissions, slices
from policies.decisions.lookups.visible_objects import owner_of
from policies.errors import Invalid
from policies.events import DUTY_GIVEN, DUTY_TAKEN
from policies.record import access_log
from policies.record.change import change
from policies.services import duties, realm_of
from policies.services.duties import Held
from policies.services.grants import revision_now

NAMES = dict(Securable._meta.permissions)
NO = "why-not-duty"
OTHERS = "Other people's duties are shown to who gives access here."


@dataclass(frozen=True)
class Line:
    who: Who
    duty: str
    text: str
    where: str
    where_url: str
    action: Action | None


@dataclass(frozen=True)
class Office:
    """An object and who looks at its duties: its readers, the realm's owner, and service admins."""

    place: Place

    @cached_property
    def root(self) -> Any:
        return next(iter(self.place.node.above()), self.place.node)

    @cached_property
    def may(self) -> bool:
        return bool(site_permissions.ask_realm(self.place.asker, self.root))

    @cached_property
    def rows(self) -> Sequence[Held]:
        held = duties.along(self.place.node)
        if self.may or self.place.may_look:
            return held
        circle = Circle(self.place.asker)
        return [one for one in held if circle.is_own(one.holder)]

    def reason(self) -> Reason | None:
        if self.may:
            return None
        owner = owner_of(self.root)
        name = f"its owner, {terms.spoken(owner)}" if owner else "its owner"
        admins_ = f", and by service admins: {site_admins.who_words()}"
        return Reason(NO, f"Duties in {self.root.name} are given by {name}{admins_}.")

    def lines(self) -> list[Line]:
        return [self._line(one) for one in self.rows]

    def _line(self, one: Held) -> Line:
        here = one.node.id == self.place.node.id
        who = terms.who(one.holder, one.holder.name, reverse("console:person", args=[one.holder.pk]))
        url = "" if here else reverse("console:object_duties", args=[one.node.id])
        where = "Here" if here else f"From {one.node.name}"
        return Line(
            who,
            terms.DUTIES.get(one.duty, one.duty),
            NAMES[one.duty],
            where,
            url,
            self._take(one, here=here),
        )

    def _take(self, one: Held, *, here: bool) -> Action | None:
        if not here:
            return None
        asked = urlencode({"who": str(one.holder), "duty": one.duty})
        url = f"{reverse('console:object_duty_take', args=[self.place.node.id])}?{asked}"
        more = f"{terms.DUTIES.get(one.duty, one.duty)} from {one.holder.label}"
        return Action("Take back", url, "mini", more=more, reason="" if self.may else NO)


def visit_office(request: Request, id: int) -> Office:
    """The object, as everybody who may see it; and a whole realm also as service admin."""
    asker, node = asker_of(request), find_node(id)
    if node is not None and len(node.levels) == 1 and site_permissions.ask_admin(asker):
        return Office(Place(asker, node, slices.current(asker, node), timezone.now()))
    return Office(visit(request, id))


@reads
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """Who has which duty here, and from above."""
    office = visit_office(request, id)
    place = office.place
    access_log.looked(place.asker, "duties", place.node, via="console")
    head = Head(place, "object_duties")
    inside = place.slice.member or place.may_look
    context = {
        **(head.context() if inside else _bare(place)),
        "rows": office.lines(),
        "csv": reverse("console:duties_csv", args=[place.node.id]),
        "give": Action(
            "Give a duty",
            reverse("console:object_duty_give", args=[place.node.id]),
            reason="" if office.may else NO,
        ),
        "reason": office.reason(),
        "others": ""
        if office.may or place.may_look
        else "Other people's duties are shown to who gives access.",
        "empty": Empty(
            "Nobody has a duty here", "The law of the realm says who may give access, with or without them."
        ),
    }
    template = "console/objects/duties.html" if inside else "console/objects/duties_bare.html"
    return _page(request, template, place, context)


def _bare(place: Place) -> dict[str, Any]:
    """For a service admin whom the realm does not admit: the duties and nothing else of it."""
    return {
        "heading": f"Duties in {place.node.name}",
        "kind": terms.kind_of(place.node.type),
        "lead": "You are no member of it: you see and give its duties, and nothing that is in it.",
        "actions": [],
    }


def _page(
    request: Request, template: str, place: Place, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    revision = place.slice.revision
    return page(
        request, template, context, room="catalog", realm=place.node.realm, revision=revision, status=status
    )


# Giving


def _refused(request: Request, office: Office) -> HttpResponse:
    place, reason = office.place, office.reason()
    access_log.refused(place.asker, site_permissions.REALM, place.node, via="console")
    back = reverse("console:object_duties", args=[place.node.id])
    heading = f"You cannot change duties on {place.node.ref.full_name or place.node.name}"
    verdict = Verdict("no", heading, reason.text if reason else "", level=1)
    context = {"verdict": verdict, "actions": (Action(f"Back to {place.node.name}", back),)}
    return _page(request, "errors/refused.html", place, context, 403)


@reads_and_writes
@signed_in
def give(request: Request, id: int) -> HttpResponse:
    """Who, which duties, why; what it lets them do; then it is done."""
    office = visit_office(request, id)
    if not office.may:
        return _refused(request, office)
    data = request.POST if request.method == "POST" else request.GET
    asked = Among(data, search=lambda text: _candidates(request, text), nobody_words=_nobody(office))
    wanted = [duty for duty in NAMES if duty in data.getlist("duty")]
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _form(request, office, asked, wanted, [])
    if not wanted:
        asked.problems["duty"] = "Choose at least one duty."
    if not asked.check_who() or asked.problems:
        return _form(request, office, asked, wanted, [])
    return _give(request, office, asked, wanted)


def _candidates(request: Request, text: str) -> QuerySet[Principal]:
    return circle_of(request).people(text)


def _nobody(office: Office) -> str:
    return f"Nobody of that name is in {office.root.name}."


def _give(request: Request, office: Office, asked: Among, wanted: Sequence[str]) -> HttpResponse:
    node = office.place.node
    actor = Actor(office.place.asker, "console", request_id=asked.nonce)
    try:
        if done_before(actor) is None:
            with change(DUTY_GIVEN, realm=realm_of(node), by=actor, reason=asked.reason):
                authority = site_permissions.of_realm(actor, office.root)
                for one in asked.chosen:
                    for duty in wanted:
                        duties.give(node, duty, one, by=actor, authority=authority)
    except Invalid as problem:
        return _form(
            request, office, asked, wanted, [Note("bad", "Not saved.", f"{problem} Your form is kept.")]
        )
    done = done_before(actor) is not None
    names, what = (
        words.listed([one.label for one in asked.chosen], 3),
        words.count(len(wanted), "duty", "duties"),
    )
    told = f"{names}: {what} on {node.name}" if done else f"Nothing changed: {names} had it before"
    say(request, told, undo=done_before(actor))
    return redirect("console:object_duties", id=node.id)


def _form(
    request: Request, office: Office, asked: Among, wanted: Sequence[str], notes: list[Note]
) -> HttpResponse:
    node = office.place.node
    context = {
        "heading": f"Give a duty on {node.name}",
        "place": terms.place_words(node),
        "notes": notes,
        "here": request.path,
        "back": reverse("console:object_duties", args=[node.id]),
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "choices_legend": "Duty",
        "choices_name": "duty",
        "choices": [
            {"code": duty, "label": terms.DUTIES.get(duty, duty), "text": text, "checked": duty in wanted}
            for duty, text in NAMES.items()
        ],
        "reason": asked.reason,
        "problems": asked.problems,
        "button": "Give the duty" if len(wanted) < 2 else f"Give {len(wanted)} duties",
        "diff": Diff(tuple(_lines(office, asked.chosen, wanted))) if asked.chosen and wanted else None,
        "preview_empty": "Name somebody and choose a duty. A duty gives no data, and data gives no duty.",
    }
    status = 422 if notes or (asked.problems and asked.data.get("step") == "save") else 200
    return _page(request, "console/roles/assign.html", office.place, context, status)


def _lines(office: Office, who: Sequence[Principal], wanted: Sequence[str]) -> Iterable[DiffLine]:
    node = office.place.node
    has = {(one.holder.pk, one.duty) for one in duties.along(node)}
    for one in who:
        for duty in wanted:
            text = f"{group_members.DUTY[duty]} {node.name} and what is below it"
            if (one.pk, duty) in has:
                yield DiffLine("same", one.label, f"may {text} already")
            else:
                yield DiffLine("gain", one.label, f"may {text}")


# Taking back


@reads_and_writes
@signed_in
def take(request: Request, id: int) -> HttpResponse:
    """What somebody may no longer do; then it is done."""
    office = visit_office(request, id)
    if not office.may:
        return _refused(request, office)
    node, duty, asked = office.place.node, request.GET.get("duty", ""), request.GET.get("who", "")
    one = somebody(asked) if ":" in asked else None
    if one is None or duty not in NAMES:
        raise Http404
    if request.method == "POST":
        return _taken(request, office, one, duty)
    has = any(
        held.holder == one and held.duty == duty and held.node.id == node.id for held in duties.along(node)
    )
    nothing = Note("", f"{one.label} does not have this duty here.", "It may have been taken before.")
    loss = DiffLine(
        "lose", one.label, f"may no longer {group_members.DUTY[duty]} {node.name} and what is below it"
    )
    context = {
        "heading": f"Take the duty {terms.DUTIES.get(duty, duty)} from {terms.spoken(one)}?",
        "place": terms.place_words(node),
        "notes": [] if has else [nothing],
        "nothing": not has,
        "diff": Diff((loss,)),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": "",
        "problems": {},
        "button": f"Take it from {terms.spoken(one)}",
        "back": reverse("console:object_duties", args=[node.id]),
    }
    return _page(request, "console/access/revoke.html", office.place, context)


def _taken(request: Request, office: Office, one: Principal, duty: str) -> HttpResponse:
    node, ended = office.place.node, False
    actor = Actor(office.place.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is None:
        reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
        try:
            with change(DUTY_TAKEN, realm=realm_of(node), by=actor, reason=reason):
                authority = site_permissions.of_realm(actor, office.root)
                ended = duties.take(node, duty, one, by=actor, authority=authority)
        except Invalid:
            ended = False  # who has no account has no duty
    told = f"{one.label} no longer has the duty {terms.DUTIES.get(duty, duty)} on {node.name}"
    say(
        request,
        told if ended else "Nothing changed: it was taken before",
        undo=done_before(actor) if ended else None,
    )
    return redirect("console:object_duties", id=node.id)
