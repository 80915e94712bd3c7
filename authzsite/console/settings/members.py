"""Who belongs to a realm: admitting people, groups and service accounts, and removing them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import people
from accounts.models import Membership, Principal
from accounts.people import NAME_LENGTH
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Count, Diff, DiffLine, Tally
from authzsite.console.kit.forms import MANY, ConfirmForm, ConsoleForm, ReasonField, SegmentsField, TextField
from authzsite.console.kit.inputs.visible_principals import somebody
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from authzsite.console.objects.access import ObjectAccess
from catalog.nodes import nodes
from policies.authority import Actor
from policies.decisions.personal_role_names import is_personal
from policies.events import MEMBER_ADDED, MEMBER_REMOVED
from policies.models import Assignment, Ownership, RealmMember
from policies.services import members
from policies.services.authorities import authorized
from policies.services.members import ADMITS, REMOVES
from policies.simulation.changes import RemoveMember

KINDS = (
    ("user", gettext_lazy("Person")),
    ("group", gettext_lazy("Group")),
    ("service", gettext_lazy("Service account")),
)
WHAT = gettext_lazy("Choose what it is.")
LENGTH = format_lazy(gettext_lazy("A name must have 1 to {number} characters."), number=NAME_LENGTH)


class MemberForm(ConsoleForm):
    """A name and its kind."""

    kind = SegmentsField(error_messages={"required": WHAT, "invalid_choice": WHAT})
    name = TextField(
        help_text=gettext_lazy(
            "The name as the sign-in or the identity provider writes it. A new member has no access, "
            "but can be granted some. A group gives its access to its members."
        ),
        error_messages={"required": LENGTH, "max_length": LENGTH},
    )
    reason = ReasonField()

    def __init__(self, data: Any = None, *, kinds: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["kind"].choices = kinds
        self.fields["kind"].initial = kinds[0][0]


class MemberChangeView(ObjectChangeView):
    """A change of who belongs to a metalake."""

    section = "people"

    def get_object(self) -> ObjectAccess:
        place: ObjectAccess = super().get_object()
        if place.node.type != "metalake":
            raise Http404
        return place

    def back(self) -> str:
        return reverse("console:people")


class AddMemberView(MemberChangeView):
    """A group brings its people."""

    form_class = MemberForm

    @cached_property
    def kinds(self) -> list[tuple[str, str]]:
        return [(code, str(word)) for code, word in KINDS if self.object.may(ADMITS[code])]

    def refusal(self) -> HttpResponse | None:
        return None if self.kinds else refused(self.request, self.object, "create_user")

    def get_form_arguments(self) -> dict[str, Any]:
        return {"kinds": self.kinds}

    def save(self, form: MemberForm, actor: Actor) -> tuple[Principal, bool]:
        node, kind, reason = self.object.node, form.cleaned_data["kind"], form.cleaned_data["reason"]
        with authorized(MEMBER_ADDED, node, ADMITS[kind], by=actor, reason=reason) as authority:
            principal = people.ensure(kind, form.cleaned_data["name"])
            return principal, members.add(node, principal, by=actor, authority=authority)

    def success_message(self, form: MemberForm) -> str:
        if self.result is None:
            return ""
        principal, new = self.result
        named = {"label": principal.label, "name": self.object.node.name}
        if new:
            return _("%(label)s is now a member of %(name)s") % named
        return _("%(label)s is already a member of %(name)s") % named

    def get_success_url(self) -> str:
        return reverse("console:person", args=[self.result[0].pk]) if self.result else self.back()

    def heading(self, form: MemberForm) -> str:
        return _("Add a member to %(name)s") % {"name": self.object.node.name}

    def lead(self) -> str:
        return ""

    def button(self, form: MemberForm) -> str:
        return _("Add to %(name)s") % {"name": self.object.node.name}


# Removing


class RemoveMemberView(MemberChangeView):
    """What is lost with it; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not removed.")

    def refusal(self) -> HttpResponse | None:
        who = self.request.GET.get("who", "")
        kind = who.partition(":")[0]
        if not self.object.may(REMOVES.get(kind, REMOVES["user"])):
            return refused(self.request, self.object, "create_user")
        principal = somebody(who) if ":" in who else None
        inside = RealmMember.objects.open().filter(realm=self.object.node.realm_id, principal=principal)
        if principal is None or not inside.exists():
            raise Http404
        self.member = principal
        return None

    @cached_property
    def inside(self) -> list[str]:
        """The people in a group."""
        if self.member.kind != Principal.Kind.GROUP:
            return []
        rows = Membership.objects.open().filter(group=self.member).select_related("member")
        return [row.member.label for row in rows.order_by("member__display_name", "member__name")]

    def get_form_arguments(self) -> dict[str, Any]:
        return {"typed": self.member.name if len(self.inside) > MANY else ""}

    def plan(self, form: ConfirmForm) -> Plan:
        nothing = DiffLine("same", self.member.label, _("has no direct access here."))
        people_in_it = Count(words.number(len(self.inside)), _("people in it"), "lose")
        return Plan(
            tally=Tally((people_in_it,) if self.inside else ()),
            diff=Diff(tuple(_losses(self.object, self.member, self.inside)) or (nothing,)),
        )

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.object.node, [RemoveMember(self.member)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        node, operation, reason = self.object.node, REMOVES[self.member.kind], form.cleaned_data["reason"]
        with authorized(MEMBER_REMOVED, node, operation, by=actor, reason=reason) as authority:
            members.remove(node, self.member, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        return _("%(label)s is no longer a member of %(name)s") % {
            "label": self.member.label,
            "name": self.object.node.name,
        }

    def get_success_url(self) -> str:
        return reverse("console:people")

    def heading(self, form: ConfirmForm) -> str:
        return _("Remove %(member)s from %(realm)s?") % {
            "member": terms.principal_name(self.member),
            "realm": self.object.node.name,
        }

    def lead(self) -> str:
        return _("A member of the realm; the account and its groups stay.")

    def button(self, form: ConfirmForm) -> str:
        return _("Remove %(member)s from %(name)s") % {
            "member": terms.principal_name(self.member),
            "name": self.object.node.name,
        }

    def back(self) -> str:
        return reverse("console:person", args=[self.member.pk])


def _losses(place: ObjectAccess, principal: Principal, inside: list[str]) -> Iterable[DiffLine]:
    """What ends with the membership: roles, what was given directly, ownerships; whom a group reaches."""
    realm = place.node.realm_id
    held = list(
        Assignment.objects.open().filter(holder=principal, role__realm=realm).values_list("role", flat=True)
    )
    owned = list(
        Ownership.objects.open()
        .filter(owner=principal, securable__realm=realm)
        .values_list("securable", flat=True)
    )
    by_id = nodes({key for key in (*held, *owned) if key})
    names = [by_id[key].name for key in held if key in by_id]
    roles = sorted(name for name in names if not is_personal(name))
    if roles:
        yield DiffLine(
            "lose",
            principal.label,
            _("loses %(roles)s") % {"roles": words.count(len(roles), "role")},
            words.listed(roles, 12),
        )
    if len(roles) < len(names):
        yield DiffLine("lose", principal.label, _("loses all that was granted directly"))
    things = sorted(by_id[key].ref.full_name or by_id[key].name for key in owned if key in by_id)
    if things:
        what = _("no longer owns %(things)s, which stay without an owner of their own") % {
            "things": words.count(len(things), "object")
        }
        yield DiffLine("lose", principal.label, what, words.listed(things, 12))
    if inside and names:
        many = words.count(len(inside), "person", "people")
        yield DiffLine(
            "lose",
            many,
            _("in %(label)s lose access through it") % {"label": principal.label},
            words.listed(inside, 12),
        )
