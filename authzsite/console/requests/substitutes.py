"""Who decides requests for people while they are away, named by them ahead of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Crumbs, Note, Who
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.inputs.dates import When
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads_and_writes, writes
from authzsite.console.kit.page import page, say
from policies.authority import Actor
from policies.errors import Invalid, NotFound
from policies.models import Substitute
from policies.requests import substitutes


@dataclass(frozen=True)
class SubstituteRow:
    """One who decides for another, and when."""

    id: int
    who: Who
    when: Chip


def _row(row: Substitute, principal: Principal, note: str) -> SubstituteRow:
    window = f"From {words.moment(row.starts)} until {words.moment(row.ends)}"
    return SubstituteRow(row.pk, terms.who(principal, note), Chip("ends", window))


class SubstituteForm(Among):
    """Who is to decide, from when until when."""

    @classmethod
    def read(cls, data: QueryDict, circle: VisiblePrincipals) -> SubstituteForm:
        return cls(
            data,
            search=lambda text: circle.people(text, kind="user").exclude(pk=circle.asker.pk),
            nobody_words="You know nobody of that name. Choose somebody who decides in the same realm.",
            at_most=1,
        )

    @property
    def when(self) -> When:
        data = self.data.copy()
        data["until"] = "date"
        return When(data)


@reads_and_writes
@login_required
def substitute_list(request: Request) -> HttpResponse:
    """Who decides for one, for whom one decides, and the form to name somebody."""
    circle = circle_of(request)
    form = SubstituteForm.read(request.POST if request.method == "POST" else request.GET, circle)
    if request.method != "POST" or not form.saving:
        return _show(request, circle, form, [])
    window = form.when
    form.check_who()
    form.problems |= window.check()
    if form.problems or window.end is None:
        return _show(request, circle, form, [])
    [deputy] = form.chosen
    starts = window.begin or timezone.now()
    try:
        substitutes.name(circle.asker, deputy, starts, window.end, by=Actor(circle.asker, "console"))
    except Invalid as problem:
        return _show(request, circle, form, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    say(request, f"{deputy.label} decides requests for you{window.said()}")
    return redirect("console:substitutes")


def _show(
    request: Request, circle: VisiblePrincipals, form: SubstituteForm, notes: list[Note]
) -> HttpResponse:
    mine, others = substitutes.of(circle.asker), substitutes.for_deputy(circle.asker)
    window = form.when
    failed = bool(form.problems or notes)
    context: dict[str, Any] = {
        "crumbs": Crumbs((("Your settings", reverse("console:profile")),)),
        "heading": "While you are away",
        "lead": "Somebody decides requests in your place; the history names both.",
        "notes": notes,
        "mine": [_row(row, row.deputy, "decides for you") for row in mine],
        "others": [_row(row, row.person, "you decide for them") for row in others],
        "nonce": form.nonce,
        **form.fields(),
        **window.fields(),
        "problems": {**window.problems, **form.problems},
    }
    return page(request, "console/requests/substitutes.html", context, status=422 if failed else 200)


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
    say(request, "The substitution is cancelled")
    return redirect("console:substitutes")
