"""The console's own duties on an object: who has which, here and from above; giving and taking them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Empty, Note, Reason, Verdict, Who
from authzsite.console.kit.display.tables import Column, Table, Text
from authzsite.console.kit.forms import (
    REASON_HELP,
    ChoicesField,
    ConfirmForm,
    ConsoleForm,
    PrincipalField,
    ReasonField,
)
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, somebody
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.people import group_members
from catalog.models import Securable
from catalog.nodes import Node
from catalog.queries import node as find_node
from policies.authority import Actor
from policies.decisions import duties, site_permissions, slices
from policies.decisions.duties import HeldDuty
from policies.decisions.lookups.visible_objects import owner_of
from policies.errors import Invalid
from policies.events import DUTY_GIVEN, DUTY_TAKEN
from policies.record import access_log
from policies.record.change import change
from policies.services import realm_of
from policies.services.duties import give as give_duty
from policies.services.duties import take as take_duty

NAMES = dict(Securable._meta.permissions)
NO = "why-not-duty"
OTHERS = gettext_lazy("Other people's duties are shown to people who grant access here.")


@dataclass(frozen=True)
class DutyRow:
    """Who has a duty on an object, from it or from above it; `may` they who look take it back."""

    place: ObjectAccess
    held: HeldDuty
    may: bool

    @property
    def who(self) -> Who:
        holder = self.held.holder
        return terms.who(holder, holder.name, reverse("console:person", args=[holder.pk]))

    @property
    def duty(self) -> Text:
        duty = self.held.duty
        return Text(terms.DUTIES.get(duty, duty), note=_(NAMES[duty]))

    @property
    def here(self) -> bool:
        return self.held.node.id == self.place.node.id

    @property
    def where(self) -> Text:
        if self.here:
            return Text(_("Here"))
        return Text(
            _("From %(name)s") % {"name": self.held.node.name},
            reverse("console:object_duties", args=[self.held.node.id]),
        )

    @property
    def take_back(self) -> Action | None:
        if not self.here:
            return None
        query = urlencode({"who": str(self.held.holder), "duty": self.held.duty})
        url = f"{reverse('console:object_duty_take', args=[self.place.node.id])}?{query}"
        more = _("%(duty)s from %(label)s") % {"duty": self.duty.text, "label": self.held.holder.label}
        return Action(_("Revoke"), url, "mini", more=more, reason="" if self.may else NO)


TABLE: Table[DutyRow] = Table(
    gettext_lazy("Holders of duties, here and from parent objects"),
    (
        Column(file={"object": lambda row: row.place.node.ref.id}),
        Column(
            gettext_lazy("Who"),
            lambda row: row.who,
            {"holder": lambda row: row.held.holder, "shown as": lambda row: row.held.holder.label},
        ),
        Column(gettext_lazy("Duty"), lambda row: row.duty, {"duty": lambda row: row.held.duty}),
        Column(
            gettext_lazy("Granted"), lambda row: row.where, {"given on": lambda row: row.held.node.ref.id}
        ),
        Column(gettext_lazy("Actions"), lambda row: row.take_back, width="acts"),
    ),
)


@dataclass(frozen=True)
class Office:
    """An object and who looks at its duties: its readers, the realm's owner, and site admins."""

    place: ObjectAccess

    @cached_property
    def root(self) -> Any:
        return next(iter(self.place.node.above()), self.place.node)

    @cached_property
    def may(self) -> bool:
        return bool(site_permissions.ask_realm(self.place.asker, self.root))

    @cached_property
    def rows(self) -> Sequence[HeldDuty]:
        held = duties.duties_along(self.place.node)
        if self.may or self.place.may_look:
            return held
        circle = VisiblePrincipals(self.place.asker)
        return [item for item in held if circle.is_own(item.holder)]

    def reason(self) -> Reason | None:
        if self.may:
            return None
        owner = owner_of(self.root)
        name = _("its owner, %(owner)s") % {"owner": terms.principal_name(owner)} if owner else _("its owner")
        who = _("%(name)s or a site admin. %(admin_names)s") % {
            "name": name,
            "admin_names": site_admins.admin_names(),
        }
        return Reason(
            NO, _("Duties in %(name)s are assigned by %(who)s") % {"name": self.root.name, "who": who}
        )

    def lines(self) -> list[DutyRow]:
        return [DutyRow(self.place, row, self.may) for row in self.rows]


def visit_office(request: Request, id: int) -> Office:
    """The object, as everybody who may see it; and a whole realm also as site admin."""
    asker, node = asker_of(request), find_node(id)
    if node is not None and len(node.levels) == 1 and site_permissions.ask_admin(asker):
        return Office(ObjectAccess(asker, node, slices.current(asker, node), timezone.now()))
    return Office(get_object_or_404(request, id))


@reads
@login_required
def duty_list(request: Request, id: int) -> HttpResponse:
    """Who has which duty here, and from above."""
    office = visit_office(request, id)
    place = office.place
    access_log.looked(place.asker, "duties", place.node, via="console")
    head = ObjectHeader(place, "object_duties")
    inside = place.slice.member or place.may_look
    context = {
        **(head.context() if inside else _bare(place)),
        "table": TABLE.page(office.lines()),
        "csv": reverse("console:duties_csv", args=[place.node.id]),
        "give": Action(
            _("Assign a duty"),
            reverse("console:object_duty_give", args=[place.node.id]),
            reason="" if office.may else NO,
        ),
        "reason": office.reason(),
        "others": ""
        if office.may or place.may_look
        else _("Other people's duties are shown to people who grant access."),
        "empty": Empty(
            _("Nobody has a duty here"),
            _("The rules of the realm decide who may grant access, with or without duties."),
        ),
    }
    template = "console/objects/duties.html" if inside else "console/objects/duties_bare.html"
    return _page(request, template, place, context)


@reads
@login_required
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """Who has which duty on an object, from it or from above it, as far as the viewer may know."""
    office = visit_office(request, id)
    access_log.looked(office.place.asker, "duties", office.place.node, via="console")
    return TABLE.file(f"duties-{id}", office.lines())


def _bare(place: ObjectAccess) -> dict[str, Any]:
    """For a site admin whom the realm does not admit: the duties and nothing else of it."""
    return {
        "heading": _("Duties in %(name)s") % {"name": place.node.name},
        "kind": terms.kind_of(place.node.type),
        "lead": _("You are not a member: you can see and assign duties here, but not the contents."),
        "actions": [],
    }


def _page(
    request: Request, template: str, place: ObjectAccess, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    revision = place.slice.revision
    return page(
        request,
        template,
        context,
        section="catalog",
        realm=place.node.realm,
        revision=revision,
        status=status,
    )


# Giving


def _refused(request: Request, office: Office) -> HttpResponse:
    place, reason = office.place, office.reason()
    access_log.refused(place.asker, site_permissions.REALM, place.node, via="console")
    back = reverse("console:object_duties", args=[place.node.id])
    heading = _("You cannot change duties on %(part)s") % {
        "part": place.node.ref.full_name or place.node.name
    }
    verdict = Verdict("no", heading, reason.text if reason else "", level=1)
    context = {
        "verdict": verdict,
        "actions": (Action(_("Back to %(name)s") % {"name": place.node.name}, back),),
    }
    return _page(request, "errors/refused.html", place, context, 403)


class DutyChangeView(ChangeView):
    """A change of duties on an object; `self.object` is the object with who may change them."""

    steps_up = True

    def get_object(self) -> Office:
        return visit_office(self.request, self.kwargs["id"])

    @property
    def node(self) -> Node:
        node: Node = self.object.place.node
        return node

    def refusal(self) -> HttpResponse | None:
        return None if self.object.may else _refused(self.request, self.object)

    def lead(self) -> str:
        return terms.place_words(self.node)

    def back(self) -> str:
        return reverse("console:object_duties", args=[self.node.id])

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return _page(self.request, self.template_name, self.object.place, context, status)


class GiveForm(ConsoleForm):
    """Who, which duties, why."""

    who = PrincipalField()
    duty = ChoicesField(error_messages={"required": gettext_lazy("Choose at least one duty.")})
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["duty"].offer(
            (duty, str(terms.DUTIES.get(duty, duty)), _(text)) for duty, text in NAMES.items()
        )


class GiveView(DutyChangeView):
    """What the duties let them do; then they are given."""

    form_class = GiveForm
    template_name = "console/kit/planned.html"
    looks_first = True

    def make_form(self, data: Any) -> GiveForm:
        form, circle = GiveForm(data), circle_of(self.request)
        form.fields["who"].search = circle.people
        form.fields["who"].nobody = _("No person in %(name)s has that name.") % {
            "name": self.object.root.name
        }
        return form

    def plan(self, form: GiveForm) -> Plan:
        chosen, wanted = form["who"].chosen, form.cleaned_data.get("duty")
        if not chosen or not wanted:
            return Plan(empty=_("Enter someone and choose a duty. A duty gives no access to data."))
        return Plan(diff=Diff(tuple(_lines(self.node, chosen, wanted))))

    def save(self, form: GiveForm, actor: Actor) -> None:
        reason = form.cleaned_data["reason"]
        with change(DUTY_GIVEN, realm=realm_of(self.node), by=actor, reason=reason):
            authority = site_permissions.of_realm(actor, self.object.root)
            for principal in form.cleaned_data["who"]:
                for duty in form.cleaned_data["duty"]:
                    give_duty(self.node, duty, principal, by=actor, authority=authority)

    def success_message(self, form: GiveForm) -> str:
        names = words.listed([principal.label for principal in form.cleaned_data["who"]], 3)
        if self.revision is None:
            return _("Nothing changed: %(names)s already had it") % {"names": names}
        what = words.count(len(form.cleaned_data["duty"]), "duty", "duties")
        return _("%(names)s: %(what)s on %(name)s") % {"names": names, "what": what, "name": self.node.name}

    def heading(self, form: GiveForm) -> str:
        return _("Assign a duty on %(name)s") % {"name": self.node.name}

    def button(self, form: GiveForm) -> str:
        wanted = form.cleaned_data.get("duty", ())
        return (
            _("Assign the duty")
            if len(wanted) < 2
            else _("Assign %(wanted)s duties") % {"wanted": len(wanted)}
        )


def _below(node: Node) -> str:
    return _("%(name)s and everything inside") % {"name": node.name}


def _lines(node: Node, who: Sequence[Principal], wanted: Sequence[str]) -> Iterable[DiffLine]:
    has = {(held.holder.pk, held.duty) for held in duties.duties_along(node)}
    for principal in who:
        for duty in wanted:
            text = group_members.duty_words(duty, _below(node))
            if (principal.pk, duty) in has:
                yield DiffLine("same", principal.label, _("may %(text)s already") % {"text": text})
            else:
                yield DiffLine("gain", principal.label, _("may %(text)s") % {"text": text})


# Taking back


class TakeView(DutyChangeView):
    """What somebody may no longer do; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"

    def refusal(self) -> HttpResponse | None:
        if refusal := super().refusal():
            return refusal
        who, self.duty = self.request.GET.get("who", ""), self.request.GET.get("duty", "")
        holder = somebody(who) if ":" in who else None
        if holder is None or self.duty not in NAMES:
            raise Http404
        self.holder = holder
        return None

    @property
    def word(self) -> str:
        return str(terms.DUTIES.get(self.duty, self.duty))

    def plan(self, form: ConfirmForm) -> Plan:
        name = self.holder.label
        held_here = [held for held in duties.duties_along(self.node) if held.node.id == self.node.id]
        if not any(held.holder == self.holder and held.duty == self.duty for held in held_here):
            if not VisiblePrincipals(self.asker).people().filter(pk=self.holder.pk).exists():
                raise Http404
            gone_note = Note(
                "",
                _("%(name)s does not have this duty here.") % {"name": name},
                _("It may have been revoked already."),
            )
            return Plan(nothing=True, notes=(gone_note,))
        loss = _("may no longer %(text)s") % {"text": group_members.duty_words(self.duty, _below(self.node))}
        return Plan(diff=Diff((DiffLine("lose", name, loss),)))

    def save(self, form: ConfirmForm, actor: Actor) -> bool:
        reason = form.cleaned_data["reason"]
        with change(DUTY_TAKEN, realm=realm_of(self.node), by=actor, reason=reason):
            authority = site_permissions.of_realm(actor, self.object.root)
            with suppress(Invalid):  # who has no account has no duty
                return take_duty(self.node, self.duty, self.holder, by=actor, authority=authority)
        return False

    def success_message(self, form: ConfirmForm) -> str:
        if self.revision is None:
            return _("Nothing changed: it was already revoked")
        return _("%(label)s no longer has the duty %(word)s on %(name)s") % {
            "label": self.holder.label,
            "word": self.word,
            "name": self.node.name,
        }

    def heading(self, form: ConfirmForm) -> str:
        return _("Revoke the duty %(duty)s from %(holder)s?") % {
            "duty": self.word,
            "holder": terms.principal_name(self.holder),
        }

    def button(self, form: ConfirmForm) -> str:
        return _("Revoke it from %(holder)s") % {"holder": terms.principal_name(self.holder)}
