"""Who decides requests for people while they are away, named by them ahead of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Crumbs, Who
from authzsite.console.kit.forms import (
    ConsoleForm,
    PrincipalField,
)
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.kit.methods import writes
from authzsite.console.kit.moment_fields import (
    WindowField,
)
from authzsite.console.kit.page import say
from policies.authority import Actor
from policies.errors import NotFound
from policies.models import Substitute
from policies.requests import substitutes


@dataclass(frozen=True)
class SubstituteRow:
    """One who decides for another, and when."""

    id: int
    who: Who
    when: Chip


def _row(row: Substitute, principal: Principal, note: str) -> SubstituteRow:
    window = _("From %(starts)s until %(ends)s") % {
        "starts": words.moment(row.starts),
        "ends": words.moment(row.ends),
    }
    return SubstituteRow(row.pk, terms.who(principal, note), Chip("ends", window))


class SubstituteForm(ConsoleForm):
    """Who is to decide, from when until when; there is always an end."""

    who = PrincipalField(
        at_most=1,
        nobody=gettext_lazy(
            "No person with that name is visible to you. Choose someone who decides in the same realm."
        ),
    )
    window = WindowField()

    def __init__(self, data: QueryDict, *, circle: VisiblePrincipals) -> None:
        data = data.copy()
        data["until"] = "date"
        super().__init__(data)
        asker = circle.asker
        self.fields["who"].search = lambda text: circle.people(text, kind="user").exclude(pk=asker.pk)


class SubstitutesView(ChangeView):
    """Who decides for one, for whom one decides, and the form to name somebody."""

    form_class = SubstituteForm
    template_name = "console/requests/substitutes.html"
    looks_first = True

    def get_form_arguments(self) -> dict[str, Any]:
        return {"circle": VisiblePrincipals(self.asker)}

    def save(self, form: SubstituteForm, actor: Actor) -> None:
        [deputy], window = form.cleaned_data["who"], form.cleaned_data["window"]
        substitutes.name(self.asker, deputy, window.begin or timezone.now(), window.end, by=actor)

    def success_message(self, form: SubstituteForm) -> str:
        [deputy], window = form.cleaned_data["who"], form.cleaned_data["window"]
        values = {"label": deputy.label, "window": window.said()}
        if values["window"]:
            return _("%(label)s decides requests for you %(window)s") % values
        return _("%(label)s decides requests for you") % values

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:substitutes")

    def heading(self, form: SubstituteForm) -> str:
        return _("While you are away")

    def lead(self) -> str:
        return _("Someone decides requests in your place; the history names both.")

    def button(self, form: SubstituteForm) -> str:
        return _("Let them decide for you")

    def back(self) -> str:
        return reverse("console:profile")

    def page_context(self, form: SubstituteForm) -> dict[str, Any]:
        mine, others = substitutes.of(self.asker), substitutes.for_deputy(self.asker)
        return {
            "crumbs": Crumbs(((_("Your settings"), self.back()),)),
            "mine": [_row(row, row.deputy, _("decides for you")) for row in mine],
            "others": [_row(row, row.person, _("you decide for them")) for row in others],
        }


@writes
@login_required
def call_off(request: Request) -> HttpResponse:
    """End it before its end."""
    number = number_in(request.POST.get("number", ""))
    if number is None:
        raise Http404
    try:
        substitutes.call_off(number, by=Actor(asker_of(request), "console"))
    except NotFound:
        raise Http404 from None
    say(request, _("The substitution is cancelled"))
    return redirect("console:substitutes")
