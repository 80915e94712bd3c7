"""What a request for an object, or for all of a realm, must say; who decides late; for how long at most."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpResponse
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, StrOrPromise
from authzsite.console.kit.forms import PLAIN, ConsoleForm, TextField, WholeNumberField
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from catalog.nodes import Node
from policies.authority import Actor
from policies.requests import rules
from policies.requests.rules import NAMES, Rules

NOT_WHOLE = gettext_lazy("Enter a whole number, or leave it empty.")


class RuleField(TextField):
    """One rule; empty leaves it to what is said above."""

    def __init__(self, label: StrOrPromise, text: StrOrPromise, **kwargs: Any) -> None:
        super().__init__(label=label, help_text=text, required=False, **kwargs)

    def inherit(self, above: str) -> None:
        """Show what counts while the field is empty."""
        self.widget.attrs["placeholder"] = above
        self.help_text = _("%(help_text)s From above: %(above)s.") % {
            "help_text": self.help_text,
            "above": above,
        }

    def words(self, value: Any) -> str:
        return str(value) or _("none")


UNITS = {
    "letters": gettext_lazy("letters"),
    "hours": gettext_lazy("hours"),
    "days": gettext_lazy("days"),
}
COUNTED: dict[str, Callable[[int], str]] = {
    "letters": lambda many: words.count(many, "letter", "letters"),
    "hours": lambda many: words.count(many, "hour", "hours"),
    "days": lambda many: words.count(many, "day", "days"),
}


def _label(label: StrOrPromise, unit: StrOrPromise) -> str:
    return format_html('{} <span class="muted">({})</span>', label, unit)


_with_unit = lazy(_label, str)


class RuleNumberField(RuleField, WholeNumberField):
    """A rule that is a number of some unit."""

    def __init__(self, label: StrOrPromise, unit: str, text: StrOrPromise) -> None:
        full_label = _with_unit(label, UNITS[unit])
        widget = forms.TextInput(attrs={"class": "input", "inputmode": "numeric"})
        super().__init__(full_label, text, wrong=NOT_WHOLE, max_length=6, widget=widget)
        self.unit = unit

    def words(self, value: Any) -> str:
        return COUNTED[self.unit](value) if value else _("no limit")


INHERITED = tuple(name for name in NAMES if name != "plan_approval")
"""What an object may say for itself; the rest is said of a realm as a whole."""


class RulesForm(ConsoleForm):
    """What is said here; `inherited` is what is said above."""

    min_reason = RuleNumberField(
        gettext_lazy("Shortest reason"),
        "letters",
        gettext_lazy("At least three different letters; a dot is not a reason."),
    )
    ticket = RuleField(
        gettext_lazy("Ticket"),
        gettext_lazy("Such as DATA-#: # stands for digits, @ for capital letters. Empty: none needed."),
        max_length=rules.LONGEST_TICKET,
        widget=forms.TextInput(attrs=PLAIN),
    )
    escalate_hours = RuleNumberField(
        gettext_lazy("Then the next level is asked"), "hours", gettext_lazy("0: never.")
    )
    lapse_hours = RuleNumberField(
        gettext_lazy("A request lapses after"), "hours", gettext_lazy("It can still be found later.")
    )
    longest_days = RuleNumberField(gettext_lazy("Access lasts at most"), "days", gettext_lazy("0: no limit."))
    plan_approval = forms.ChoiceField(
        label=gettext_lazy("Approval of policy file plans"),
        required=False,
        choices=(
            ("", gettext_lazy("never")),
            ("removals", gettext_lazy("when a plan removes or changes something")),
            ("always", gettext_lazy("always")),
        ),
        help_text=gettext_lazy("By a person who may grant in the whole realm or has the duty to approve."),
        widget=forms.Select(attrs={"class": "input"}),
    )
    no_ticket = forms.BooleanField(required=False)

    def __init__(self, data: Any = None, *, inherited: Rules, of_realm: bool, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        if not of_realm:
            del self.fields["plan_approval"]
        for name in INHERITED:
            field = self.fields[name]
            field.inherit(field.words(getattr(inherited, name)))

    @property
    def rule_fields(self) -> list[Any]:
        return [self[name] for name in NAMES if name in self.fields]

    @property
    def rule(self) -> dict[str, Any]:
        """The values as they are set; `no_ticket` says that none is needed here whatever the parent says."""
        values = {name: self.cleaned_data[name] for name in INHERITED}
        values["plan_approval"] = self.cleaned_data.get("plan_approval") or None
        if not values["ticket"] and not self.cleaned_data["no_ticket"]:
            values["ticket"] = None
        return values


class RequestRulesView(ObjectChangeView):
    """What is left empty is said by what lies above."""

    form_class = RulesForm
    template_name = "console/requests/rules.html"

    def refusal(self) -> HttpResponse | None:
        return None if self.object.may_grant else refused(self.request, self.object, "grant")

    @cached_property
    def above(self) -> list[Node]:
        return list(self.object.node.above())

    @cached_property
    def inherited(self) -> Rules:
        return rules.rules_along(self.above) if self.above else Rules()

    def get_form_arguments(self) -> dict[str, Any]:
        given = {"inherited": self.inherited, "of_realm": not self.above}
        if self.request.method == "POST":
            return given
        row = rules.own(self.object.node)
        initial = {name: getattr(row, name, None) for name in NAMES}
        return {
            **given,
            "initial": {**initial, "no_ticket": initial["ticket"] == ""},
        }

    def save(self, form: RulesForm, actor: Actor) -> None:
        rules.set_rule(self.object.node, by=actor, **form.rule)

    def success_message(self, form: RulesForm) -> str:
        name = self.object.node.name
        if self.revision is None:
            return _("Nothing changed for %(name)s") % {"name": name}
        return _("The request rules of %(name)s are set") % {"name": name}

    def may_undo(self) -> bool:
        return False

    def heading(self, form: RulesForm) -> str:
        return _("Request rules of %(name)s") % {"name": self.object.node.name}

    def lead(self) -> str:
        return _("Applies to everything inside. Empty fields inherit from the parent.")

    def button(self, form: RulesForm) -> str:
        return _("Save request rules")

    def back(self) -> str:
        return terms.page_of(self.object.node.id, self.object.node.type)

    def page_context(self, form: RulesForm) -> dict[str, Any]:
        places = (*self.above, self.object.node)
        return {
            "crumbs": Crumbs(tuple((item.name, terms.page_of(item.id, item.type)) for item in places)),
            "inherits_ticket": bool(self.inherited.ticket),
        }
