"""How long a realm keeps its history live."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import ConsoleForm, SegmentsField, WholeNumberField
from authzsite.console.settings.realm_settings import RealmChangeView, not_yours
from policies.authority import Actor
from policies.decisions import live_history, site_permissions
from policies.errors import PolicyError
from policies.events import RETENTION_SET
from policies.record.archive import retention
from policies.record.change import change

_RANGE = {"least": retention.LEAST, "most": lazy(words.number, str)(retention.MOST)}
HELP = format_lazy(gettext_lazy("At least {least}, at most {most}."), **_RANGE)
WRONG = format_lazy(gettext_lazy("Enter a number of days from {least} to {most}."), **_RANGE)


class RetentionForm(ConsoleForm):
    """For ever, or for so many days."""

    keep = SegmentsField(
        label=gettext_lazy("Keep it live"),
        choices=(("for-ever", gettext_lazy("Permanently")), ("days", gettext_lazy("For some days"))),
        otherwise="days",
    )
    days = WholeNumberField(
        max_length=6,
        required=False,
        wrong=WRONG,
        help_text=HELP,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric", "autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("keep") == "for-ever":
            self.errors.pop("days", None)
            return {"days": None}
        if self.cleaned_data.get("days", 0) is None:
            self.add_error("days", ValidationError(WRONG))
        return self.cleaned_data


class RetentionView(RealmChangeView):
    """What is older moves to the archive with the next nightly run."""

    form_class = RetentionForm
    fields_of_errors = {PolicyError: "days"}

    def refusal(self) -> HttpResponse | None:
        if self.object.owns:
            return None
        return not_yours(
            self.request,
            self.object,
            _("You cannot set the retention of %(name)s") % {"name": self.object.root.name},
        )

    def get_form_arguments(self) -> dict[str, Any]:
        days = retention.days(self.object.realm)
        return {"initial": {"keep": "days" if days else "for-ever", "days": days or ""}}

    def plan(self, form: RetentionForm) -> Plan:
        begins = live_history.floor(self.object.realm.pk)
        since = _("Live since revision %(begins)s.") % {"begins": words.number(begins)}
        return Plan(notes=(Note("plain", since, _("Earlier changes are archived.")),) if begins else ())

    def save(self, form: RetentionForm, actor: Actor) -> None:
        ward = self.object
        with change(RETENTION_SET, realm=ward.realm, by=actor):
            authority = site_permissions.of_switch(actor, ward.root, enforced=False)
            retention.set_days(ward.realm, form.cleaned_data["days"], by=actor, authority=authority)

    def success_message(self, form: RetentionForm) -> str:
        days = form.cleaned_data["days"]
        lasts = _("for %(days)s") % {"days": words.count(days, "day")} if days else _("permanently")
        return _("The history of %(name)s stays live %(lasts)s") % {
            "name": self.object.root.name,
            "lasts": lasts,
        }

    def heading(self, form: RetentionForm) -> str:
        return _("Retention of %(name)s") % {"name": self.object.root.name}

    def lead(self) -> str:
        return _(
            "What is older moves to the archive: files that stay part of the same verified chain "
            "and can be searched. The live pages then no longer show who had access before that "
            "day."
        )

    def button(self, form: RetentionForm) -> str:
        return _("Save")
