"""Letting somebody have both sides of a rule until an end, and ending that."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.forms import (
    ConfirmForm,
    ConsoleForm,
    PrincipalField,
    ReasonField,
    TextField,
)
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, somebody
from authzsite.console.kit.moment_fields import (
    MomentField,
)
from authzsite.console.separation.context import candidates, side_words
from authzsite.console.separation.rule import RuleChangeView, only
from policies.authority import Actor
from policies.errors import PolicyError
from policies.separation.sides import sides_of
from policies.services import separation


class ExceptionForm(ConsoleForm):
    """Who, who answers for it, until when, why."""

    who = PrincipalField(at_most=1)
    owner = TextField(
        label=gettext_lazy("Who is responsible for it"),
        max_length=300,
        help_text=gettext_lazy("A person’s name; not the holder of both sides."),
        error_messages={"required": gettext_lazy("Enter the person responsible.")},
    )
    date = MomentField(label=gettext_lazy("Until"))
    reason = ReasonField(help_text=gettext_lazy("Kept in the history permanently. At least 8 characters."))

    def __init__(self, data: QueryDict, *, circle: VisiblePrincipals) -> None:
        super().__init__(data)
        self.circle = circle

    def clean_owner(self) -> Principal:
        name = self.cleaned_data["owner"]
        person = somebody(name)
        if person is None or not self.circle.people(kind="user").filter(pk=person.pk).exists():
            raise ValidationError(_("Nobody is called %(name)s.") % {"name": name})
        return person


class NewExceptionView(RuleChangeView):
    """Who, who answers for it, until when, why; then they are let."""

    template_name = "console/kit/planned.html"
    looks_first = True
    cannot = gettext_lazy("create exceptions from rules of separation")

    def make_form(self, data: Any) -> ExceptionForm:
        form = ExceptionForm(data, circle=VisiblePrincipals(self.asker))
        form.fields["who"].search = lambda text: candidates(self.request, text)
        zone = _("Within a year, in %(zone)s, the time zone of your settings.") % {"zone": words.zone()}
        form.fields["date"].help_text = zone
        return form

    def plan(self, form: ExceptionForm) -> Plan | None:
        if self.rule.closed is not None:
            self.notes = [Note("", _("This rule has ended and no longer stops anyone."))]
        return None

    def save(self, form: ExceptionForm, actor: Actor) -> None:
        (person,), typed = form.cleaned_data["who"], form.cleaned_data
        separation.let(
            self.rule,
            self.object.ward.root,
            person,
            owner=typed["owner"],
            until=typed["date"],
            reason=typed["reason"],
            by=actor,
        )

    def success_message(self, form: ExceptionForm) -> str:
        person, until = form.cleaned_data["who"][0], words.moment(form.cleaned_data["date"], within=True)
        return _("%(label)s may hold both until %(until)s") % {
            "label": person.label,
            "until": until,
        }

    def heading(self, form: ExceptionForm) -> str:
        return _("Allow someone to hold both")

    def lead(self) -> str:
        seen = self.object.seen(only(self.object, self.rule))
        first, second = (side_words(side, seen) for side in sides_of(self.rule))
        return f"{self.rule.name}: {first}; {terms.lower(second)}"

    def button(self, form: ExceptionForm) -> str:
        return _("Create the exception")


class EndExceptionView(RuleChangeView):
    """What its end means, then it ends."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    cannot = gettext_lazy("end exceptions from rules of separation")

    def refusal(self) -> HttpResponse | None:
        if refusal := super().refusal():
            return refusal
        person = somebody(self.request.GET.get("who", ""))
        if person is None:
            raise Http404
        self.person = person
        return None

    def plan(self, form: ConfirmForm) -> Plan:
        name = self.person.label
        if (self.rule.pk, self.person.pk) not in self.object.book.exceptions:
            if not VisiblePrincipals(self.asker).people().filter(pk=self.person.pk).exists():
                raise Http404
            return Plan(
                nothing=True,
                notes=(Note("", _("%(name)s has no exception from this rule.") % {"name": name}),),
            )
        kept = DiffLine("change", name, _("keeps the access, listed as a conflict"))
        return Plan(diff=Diff((kept,)))

    def save(self, form: ConfirmForm, actor: Actor) -> bool:
        try:
            return separation.end_exception(self.rule, self.object.ward.root, self.person, by=actor)
        except PolicyError:
            return False

    def success_message(self, form: ConfirmForm) -> str:
        if self.revision is None:
            return _("Nothing changed: it had ended before")
        return _("%(label)s has no exception any more") % {"label": self.person.label}

    def heading(self, form: ConfirmForm) -> str:
        return _("End the exception of %(name)s?") % {"name": self.person.label}

    def lead(self) -> str:
        return _("From the rule %(name)s") % {"name": self.rule.name}

    def button(self, form: ConfirmForm) -> str:
        return _("End the exception")
