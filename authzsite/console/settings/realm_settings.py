"""Setting a realm: whether its law is enforced, and the switches of a CDAP instance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Verdict
from authzsite.console.kit.forms import MANY, ConfirmForm, ConsoleForm, SegmentsField, TextField
from authzsite.console.kit.http import Request
from authzsite.console.kit.replay import Proposal
from authzsite.console.settings import modes
from authzsite.console.settings.realm import CDAP, RealmAccess, realm_at, show
from catalog.models import Realm
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.events import MODE_SET, REALM_SET
from policies.record import access_log
from policies.record.change import change
from policies.services import realms
from policies.simulation.changes import SetMode


class RealmChangeView(ChangeView):
    """A change of a realm; the page is shown under the loud banner where its law is not enforced."""

    def get_object(self) -> RealmAccess:
        return realm_at(self.request, self.kwargs["id"])

    def may_undo(self) -> bool:
        return False

    def back(self) -> str:
        return str(self.object.url)

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show(self.request, self.template_name, self.object, context, status=status)


class ModeView(RealmChangeView):
    """Whether the law is enforced: what the change means, then it is made."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not set.")

    @property
    def mode(self) -> str:
        return self.request.GET.get("to", "")

    def refusal(self) -> HttpResponseBase | None:
        if self.mode not in modes.WORDS:
            raise Http404
        if not self.object.may_switch(self.mode):
            return _refused(self.request, self.object)
        return redirect(self.object.url) if self.mode == self.object.mode else None

    def get_form_arguments(self) -> dict[str, Any]:
        return {"typed": self.object.root.name if self._opens_to_many() else ""}

    def _opens_to_many(self) -> bool:
        """Whether so many gain everything that the realm's name is asked for."""
        open_ = dialects.get(self.object.root.kind).open_to_all
        return self.mode != "on" and self.object.mode == "on" and (open_ or sum(self.object.members) > MANY)

    def plan(self, form: ConfirmForm) -> Plan:
        return Plan(diff=Diff(tuple(_effects(self.object, self.mode))))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.object.root, [SetMode(self.mode)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        ward, reason = self.object, form.cleaned_data["reason"]
        with change(MODE_SET, realm=ward.realm, by=actor, reason=reason):
            authority = site_permissions.of_switch(actor, ward.root, enforced=self.mode == "on")
            realms.set_mode(ward.realm, self.mode, by=actor, authority=authority, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        return _("Authorization of %(name)s is %(words)s") % {
            "name": self.object.root.name,
            "words": modes.INSIDE[self.mode],
        }

    def heading(self, form: ConfirmForm) -> str:
        return _("Set authorization of %(name)s to %(words)s?") % {
            "name": self.object.root.name,
            "words": modes.INSIDE[self.mode],
        }

    def lead(self) -> str:
        return str(modes.MEANS[self.mode])

    def button(self, form: ConfirmForm) -> str:
        return _("Set %(name)s to %(words)s") % {
            "name": self.object.root.name,
            "words": modes.INSIDE[self.mode],
        }


def _effects(ward: RealmAccess, code: str) -> Iterable[DiffLine]:
    open_ = dialects.get(ward.root.kind).open_to_all
    many = words.count(sum(ward.members), "member")
    who = _("Everyone who signs in") if open_ else many
    if code == "on":
        yield DiffLine(
            "lose", who, _("may do only what the rules allow"), _("As it was before it was switched.")
        )
        return
    if ward.mode == "on":
        yield DiffLine(
            "lose", ward.root.name, _("is no longer protected by its rules"), _("Every page shows a warning.")
        )
    everything = _("may do everything with its data")
    rules_too = _("may do everything with its data, and change the rules")
    yield DiffLine("gain", who, everything if code == "off" else rules_too)


def _refused(request: Request, ward: RealmAccess) -> HttpResponse:
    return not_yours(
        request, ward, _("You cannot set the authorization of %(name)s") % {"name": ward.root.name}
    )


def not_yours(request: Request, ward: RealmAccess, heading: str) -> HttpResponse:
    """The page for viewers who may see the realm and not set it; the refusal is recorded."""
    access_log.refused(ward.asker, site_permissions.SWITCH, ward.root, via="console")
    context = {
        "verdict": Verdict(
            "no",
            heading,
            _("That is done by %(owner_words)s.") % {"owner_words": ward.owner_words()},
            level=1,
        ),
        "actions": (Action(_("Back to %(name)s") % {"name": ward.root.name}, ward.url),),
    }
    return show(request, "errors/refused.html", ward, context, status=403)


# What a CDAP instance is set to


class SettingsForm(ConsoleForm):
    """Authentication, master user and admin group of a CDAP instance."""

    authentication = SegmentsField(
        choices=(("on", gettext_lazy("On")), ("off", gettext_lazy("Off"))),
        otherwise="on",
        help_text=CDAP[0][2],
    )
    master_user = TextField(
        required=False,
        help_text=gettext_lazy(
            "The user that programs run as without impersonation; has full access in namespace system. "
            "Optional."
        ),
    )
    admin_group = TextField(
        required=False, help_text=gettext_lazy("Optional. Its members may grant and revoke.")
    )
    grants = SegmentsField(
        choices=(("anybody", gettext_lazy("To anyone")), ("roles", gettext_lazy("To roles only"))),
        otherwise="anybody",
        help_text=CDAP[3][2],
    )


class SettingsView(RealmChangeView):
    """The switches of a CDAP instance; its generation is raised on a page of its own."""

    form_class = SettingsForm

    def refusal(self) -> HttpResponse | None:
        if self.object.realm.kind != Realm.Kind.CDAP:
            raise Http404
        return None if self.object.owns else _refused(self.request, self.object)

    def get_form_arguments(self) -> dict[str, Any]:
        return {"initial": self.object.realm.settings}

    def save(self, form: SettingsForm, actor: Actor) -> None:
        ward = self.object
        with change(REALM_SET, realm=ward.realm, by=actor):
            authority = site_permissions.of_switch(actor, ward.root, enforced=False)
            realms.configure(ward.realm, form.cleaned_data, by=actor, authority=authority)

    def success_message(self, form: SettingsForm) -> str:
        return _("%(name)s is set") % {"name": self.object.root.name}

    def heading(self, form: SettingsForm) -> str:
        return _("Settings of %(name)s") % {"name": self.object.root.name}

    def lead(self) -> str:
        return _("Its rules are those of CDAP %(get)s.") % {
            "get": self.object.realm.settings.get("policy", "")
        }

    def button(self, form: SettingsForm) -> str:
        return _("Save the settings")
