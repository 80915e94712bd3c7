"""Giving somebody several roles in one step, so that a new person or group can start at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.access.reasons import GivingForm
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import (
    REASON_HELP,
    ChoicesField,
    ReasonField,
)
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.moment_fields import (
    WindowField,
)
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal, root_of
from authzsite.console.roles.effects import Foretold
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import children
from policies.decisions.personal_role_names import is_personal
from policies.events import ROLE_ASSIGNED
from policies.models import Assignment, RealmMember
from policies.previews.roles import of_roles_given
from policies.record import access_log
from policies.record.change import change
from policies.requests.rules import Rules, rules_of_roles
from policies.services import realm_of, roles
from policies.services.authorities import may
from policies.simulation.changes import AssignRole, Change


@dataclass(frozen=True)
class Offer:
    """The roles of the viewer's realms that they may give to somebody who is a member there."""

    circle: VisiblePrincipals
    person: Principal

    @cached_property
    def roles(self) -> list[Node]:
        rows = RealmMember.objects.open().filter(principal=self.person).values_list("realm", flat=True)
        member, roles_ = set(rows), []
        for realm in (item for item in self.circle.realms if item.realm_id in member):
            slice_, now = slices.current(self.circle.asker, realm), timezone.now()
            keys = [row.securable_id for row in children(slice_, realm, "role", now=now)]
            seen = [node for node in nodes(keys).values() if not is_personal(node.name)]
            deed = roles.operation(realm, "assign")
            roles_ += [item for item in seen if ask.answer(slice_, deed, item, now=now)]
        return sorted(roles_, key=lambda role: role.names)

    @cached_property
    def held(self) -> set[int]:
        rows = Assignment.objects.open().filter(holder=self.person, role__in=[role.id for role in self.roles])
        return set(rows.values_list("role", flat=True))


class RolesForm(GivingForm):
    """Which roles somebody is to hold, until when and why."""

    role = ChoicesField(
        label=gettext_lazy("Roles"), error_messages={"required": gettext_lazy("Choose at least one role.")}
    )
    window = WindowField()
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, *, offer: Offer, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        held = offer.held if offer.roles else set()
        self.offered = {str(role.id): role for role in offer.roles}
        self.fields["role"].offer(
            (
                code,
                role.name,
                _("in %(realm)s; held already") % {"realm": role.realm}
                if role.id in held
                else _("in %(realm)s") % {"realm": role.realm},
            )
            for code, role in self.offered.items()
        )
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        ticked = self.data.getlist("role")
        return rules_of_roles([role for code, role in self.offered.items() if code in ticked])

    @property
    def roles(self) -> list[Node]:
        """Those that are ticked, in the order in which they are offered."""
        ticked = self.cleaned_data.get("role", ())
        return [role for code, role in self.offered.items() if code in ticked]


class PersonRolesView(ChangeView):
    """Which roles, until when, why; what they let somebody do together; then it is done at once."""

    template_name = "console/kit/planned.html"
    looks_first = True

    def get_object(self) -> Offer:
        circle = circle_of(self.request)
        return Offer(circle, circle.meet(self.kwargs["id"]))

    def refusal(self) -> HttpResponse | None:
        if self.object.roles:
            return None
        self.notes.append(NOTHING)
        return self.look(self.make_form(QueryDict()))

    def make_form(self, data: Any) -> RolesForm:
        return RolesForm(data, offer=self.object)

    def plan(self, form: RolesForm) -> Plan:
        window, wanted, person = form["window"].data, form.roles, self.object.person
        if not wanted:
            text = _("Choose roles; the preview shows what they allow together.")
            return Plan(empty=text)
        root = next(iter(self.object.roles[0].above()))
        access_log.looked(self.asker, f"access of {person.pseudonym}", root, via="console")
        if not window.whole:
            return Plan()
        foretold = Foretold.of_role(of_roles_given(wanted, person, (window.begin, window.end)))
        return Plan(
            diff=foretold.diff(),
            tally=foretold.tally(),
            sum=foretold.sum(),
            begins=words.moment(window.begin) if window.begin else "",
        )

    def proposals(self, form: RolesForm) -> Iterable[Proposal]:
        window = form["window"].data
        by_realm: dict[Node, list[Change]] = {}
        for role in form.roles:
            given = AssignRole(role, self.object.person, (window.begin, window.end))
            by_realm.setdefault(root_of(role), []).append(given)
        return by_realm.items() if window.whole else ()

    def save(self, form: RolesForm, actor: Actor) -> None:
        wanted, window, reason = form.roles, form.cleaned_data["window"], form.cleaned_data["reason"]
        with change(ROLE_ASSIGNED, realm=realm_of(wanted[0]), by=actor, reason=reason):
            for role in wanted:
                authority = may(actor, roles.operation(role, "assign"), role)
                roles.hold(role, self.object.person, window.begin, window.end, by=actor, authority=authority)

    def success_message(self, form: RolesForm) -> str:
        name, names = self.object.person.label, words.listed([role.name for role in form.roles], 4)
        return (
            f"{name}: {names}"
            if self.revision
            else _("Nothing changed: %(name)s holds %(names)s already") % {"name": name, "names": names}
        )

    def heading(self, form: RolesForm) -> str:
        return _("Assign roles to %(label)s") % {"label": self.object.person.label}

    def lead(self) -> str:
        person = self.object.person
        return _("%(capitalize)s %(name)s. All of them in one step.") % {
            "capitalize": person.get_kind_display().capitalize(),
            "name": person.name,
        }

    def button(self, form: RolesForm) -> str:
        return (
            _("Assign %(roles)s") % {"roles": words.count(len(form.roles), "role")}
            if form.roles
            else _("Assign the roles")
        )

    def back(self) -> str:
        return reverse("console:person_groups", args=[self.object.person.pk])

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="people", status=status)


NOTHING = Note(
    "",
    gettext_lazy("You cannot assign any role here."),
    gettext_lazy("Only the owner of a realm, or a holder of Manage grants, can assign roles."),
)
