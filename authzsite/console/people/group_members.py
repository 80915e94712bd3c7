"""Who is in a group: made, filled and emptied by site admins alone, each with what it changes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import directory
from accounts.models import Membership, Principal
from authzsite.console.accounts.admin_change import AdminChangeView
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, Verdict
from authzsite.console.kit.forms import (
    REASON_HELP,
    ConfirmForm,
    ConsoleForm,
    PrincipalField,
    ReasonField,
    TextField,
)
from authzsite.console.kit.inputs.visible_principals import somebody
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal
from authzsite.console.roles.effects import Foretold
from authzsite.console.separation import warnings
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.lookups.visible_objects import realms_of
from policies.decisions.site import named
from policies.events import GROUP_JOINED, GROUP_LEFT
from policies.previews.groups import Moved, of_membership
from policies.record import access_log
from policies.record.change import change
from policies.services import members
from policies.simulation.changes import JoinGroup, LeaveGroup

DUTY = {
    "view_history": gettext_lazy("read the history of %(name)s"),
    "export_history": gettext_lazy("export the history of %(name)s"),
    "review_access": gettext_lazy("review access to %(name)s"),
    "approve_requests": gettext_lazy("decide requests for %(name)s"),
    "operate_sync": gettext_lazy("run and pause the sync of %(name)s"),
    "connect_backend": gettext_lazy("connect a backend to %(name)s"),
    "break_glass": gettext_lazy("open %(name)s in an emergency"),
}
"""What each of the console's own duties lets one do, after "may" and "may no longer"."""
DIRECTORY_KEEPS = gettext_lazy("The directory manages this group. Change its members there.")


def duty_words(duty: str, name: str) -> str:
    """read the history of demo.sales"""
    return str(DUTY[duty]) % {"name": name} if duty in DUTY else f"{duty} {name}"


def _group(id: int) -> Principal:
    group = Principal.objects.filter(pk=id, kind=Principal.Kind.GROUP).first()
    if group is None:
        raise Http404
    return group


class GroupChangeView(AdminChangeView):
    """A change of a group of the site."""

    section = "people"
    shows_all_uses = True
    cannot = gettext_lazy("You cannot change who is in a group")

    def way_back(self) -> tuple[str, str]:
        return reverse("console:people"), _("Back to People")

    def back(self) -> str:
        return reverse("console:person_groups", args=[self.object.pk])

    def refusal(self) -> HttpResponse | None:
        if self.object is None or not directory.keeps(self.object):
            return None
        verdict = Verdict("no", self.cannot, DIRECTORY_KEEPS, level=1)
        context = {"verdict": verdict, "actions": (Action(_("Back to the group"), self.back()),)}
        return page(self.request, "errors/refused.html", context, section=self.section, status=403)


class NewGroupForm(ConsoleForm):
    """A name, and why."""

    name = TextField(
        help_text=gettext_lazy(
            "The name as the identity provider writes it, if it knows the group. Groups belong to the "
            "site; a realm admits them as members."
        ),
        error_messages={"required": gettext_lazy("Enter a name.")},
    )
    reason = ReasonField()


class NewGroupView(GroupChangeView):
    """A name; nobody is in it yet."""

    form_class = NewGroupForm
    not_saved = gettext_lazy("Not created.")

    def save(self, form: NewGroupForm, actor: Actor) -> Principal:
        authority, reason = site_permissions.of_admin(actor), form.cleaned_data["reason"]
        return members.make_group(form.cleaned_data["name"], by=actor, authority=authority, reason=reason)

    def success_message(self, form: NewGroupForm) -> str:
        return _("Group %(cleaned_data)s is created; nobody is in it yet") % {
            "cleaned_data": form.cleaned_data["name"]
        }

    def get_success_url(self) -> str:
        return reverse("console:person_groups", args=[self.result.pk]) if self.result else self.back()

    def heading(self, form: NewGroupForm) -> str:
        return _("Create a group")

    def button(self, form: NewGroupForm) -> str:
        return _("Create the group")

    def back(self) -> str:
        return reverse("console:people")


# Into it


class JoinForm(ConsoleForm):
    """Who is put into a group, and why."""

    who = PrincipalField(
        search=lambda text: named(("user", "service"), text),
        nobody=gettext_lazy("No person has that name. Create the account first."),
    )
    reason = ReasonField(help_text=REASON_HELP)


class JoinView(GroupChangeView):
    """Who, what they gain by it in every realm, why; then it is done."""

    form_class = JoinForm
    template_name = "console/kit/planned.html"
    looks_first = True

    def get_object(self) -> Principal:
        return _group(self.kwargs["id"])

    def plan(self, form: JoinForm) -> Plan:
        who = form["who"].chosen
        if not who:
            return Plan(empty=_("Enter someone: the preview shows what they gain, realm by realm."))
        moved = of_membership(self.object, who, joins=True)
        foretold = _foretold(self.asker, who, moved)
        inside = Membership.objects.open().filter(group=self.object, member__in=who).values("member")
        already = Principal.objects.filter(pk__in=inside).order_by("display_name", "name")
        same = [
            DiffLine("same", item.label, _("is in %(label)s already") % {"label": self.object.label})
            for item in already
        ]
        new = [item for item in who if item not in already]
        joining = Diff((*(_diff(foretold, moved, new, gains=True).lines if new else ()), *same))
        return Plan(
            diff=joining,
            tally=foretold.tally(),
            sum=foretold.sum(),
            warnings=tuple(warnings.of_joining(moved.realms, self.object, who, self.asker)),
        )

    def proposals(self, form: JoinForm) -> Iterable[Proposal]:
        joins = [JoinGroup(self.object, member) for member in form["who"].chosen]
        return [(root, joins) for root in realms_of(self.object)]

    def save(self, form: JoinForm, actor: Actor) -> None:
        with change(GROUP_JOINED, realm=None, by=actor, reason=form.cleaned_data["reason"]):
            authority = site_permissions.of_admin(actor)
            for member in form.cleaned_data["who"]:
                members.join_group(self.object, member, by=actor, authority=authority)

    def success_message(self, form: JoinForm) -> str:
        names = words.listed([member.label for member in form.cleaned_data["who"]], 3)
        named = {"names": names, "label": self.object.label}
        if self.revision is None:
            return _("%(names)s: already in %(label)s") % named
        return _("%(names)s: in %(label)s") % named

    def may_undo(self) -> bool:
        return True

    def heading(self, form: JoinForm) -> str:
        return _("Add someone to %(label)s") % {"label": self.object.label}

    def lead(self) -> str:
        return _("A group gives its access in every realm to all its members.")

    def button(self, form: JoinForm) -> str:
        many = len(form["who"].chosen)
        who = f"{words.count(many, 'person', 'people')} " if many else ""
        return _("Add %(who)sto %(label)s") % {"who": who, "label": self.object.label}


def _foretold(asker: Principal, who: Sequence[Principal], moved: Moved, *, removal: bool = False) -> Foretold:
    """The same in words; that somebody's access was looked at is recorded, realm by realm."""
    for realm in moved.realms:
        for item in who:
            access_log.looked(asker, f"access of {item.pseudonym}", realm, via="console")
    return Foretold(moved.parts, removal=removal)


def _diff(foretold: Foretold, moved: Moved, who: Sequence[Principal], *, gains: bool) -> Diff:
    duties = list(_duty_lines(moved, who, gains=gains))
    lines = foretold.diff().lines if foretold.lines or not duties else ()
    return Diff((*lines, *duties))


def _duty_lines(moved: Moved, who: Sequence[Principal], *, gains: bool) -> Iterable[DiffLine]:
    names = words.listed([item.label for item in who], 6)
    for node, duty in moved.duties:
        deed = {"text": duty_words(duty, node.ref.full_name or node.name)}
        text = _("may %(text)s") % deed if gains else _("may no longer %(text)s") % deed
        yield DiffLine("gain" if gains else "lose", names, text, _("A duty of the group."))


# Out of it


class LeaveView(GroupChangeView):
    """What somebody loses by it in every realm; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"

    def get_object(self) -> Principal:
        group, who = _group(self.kwargs["id"]), self.request.GET.get("who", "")
        member = somebody(who) if ":" in who else None
        if member is None:
            raise Http404
        self.member = member
        return group

    def plan(self, form: ConfirmForm) -> Plan:
        if not Membership.objects.open().filter(group=self.object, member=self.member).exists():
            gone_note = Note(
                "",
                _("%(label)s is not in %(label2)s.")
                % {"label": self.member.label, "label2": self.object.label},
                _("It may have ended."),
            )
            return Plan(nothing=True, notes=(gone_note,))
        moved = of_membership(self.object, [self.member], joins=False)
        foretold = _foretold(self.asker, [self.member], moved, removal=True)
        return Plan(diff=_diff(foretold, moved, [self.member], gains=False), tally=foretold.tally())

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        return [(root, [LeaveGroup(self.object, self.member)]) for root in realms_of(self.object)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        with change(GROUP_LEFT, realm=None, by=actor, reason=form.cleaned_data["reason"]):
            authority = site_permissions.of_admin(actor)
            members.leave_group(self.object, self.member, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        if self.revision is None:
            return _("Nothing changed: %(label)s is not in %(label2)s") % {
                "label": self.member.label,
                "label2": self.object.label,
            }
        return _("%(label)s is no longer in %(label2)s") % {
            "label": self.member.label,
            "label2": self.object.label,
        }

    def may_undo(self) -> bool:
        return True

    def heading(self, form: ConfirmForm) -> str:
        return _("Remove %(member)s from %(group)s?") % {
            "member": terms.principal_name(self.member),
            "group": self.object.label,
        }

    def lead(self) -> str:
        return _("Access granted in other ways stays.")

    def button(self, form: ConfirmForm) -> str:
        return _("Remove %(member)s from %(label)s") % {
            "member": terms.principal_name(self.member),
            "label": self.object.label,
        }
