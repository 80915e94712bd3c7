"""One rule: its sides, who has both and by which paths, and its end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import (
    Action,
    Crumbs,
    Diff,
    DiffLine,
    Empty,
    Fact,
    Facts,
    Note,
    StrOrPromise,
)
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.separation.context import (
    SeparationContext,
    ViolationRow,
    line,
    locked,
    refused,
    rule_at,
    side_words,
)
from authzsite.console.settings.realm import show
from policies.authority import Actor
from policies.models import SeparationRule
from policies.separation import Book
from policies.separation.sides import sides_of
from policies.services import separation


@reads
@login_required
def rule_detail(request: Request, id: int) -> HttpResponse:
    """The rule; people for who writes rules."""
    desk, rule = rule_at(request, id)
    book = only(desk, rule)
    seen = desk.seen(book)
    first_side, other = (side_words(side, seen) for side in sides_of(rule))
    ended = rule.closed is not None
    address = reverse("console:separation_end", args=[rule.pk])
    context: dict[str, Any] = {
        "heading": rule.name,
        "lead": _("This rule has ended and no longer stops anyone.") if ended else "",
        "crumbs": Crumbs(
            (
                (desk.ward.root.name, desk.ward.url),
                (_("Rules of separation"), reverse("console:separation", args=[desk.ward.root.id])),
            )
        ),
        "actions": []
        if ended
        else [Action(_("End the rule"), address, reason="" if desk.writes else "why-not-write")],
        "facts": Facts(
            (
                Fact(_("Nobody has both"), first_side),
                Fact(_("and"), other),
                Fact(_("Owning counts"), _("as every right") if rule.owners else _("not here")),
            )
        ),
        "lines": list(_lines(desk, rule, book)) if desk.writes and not ended else [],
        "writes": desk.writes and not ended,
        "csv": reverse("console:separation_rule_csv", args=[id]),
        "one": first_side,
        "other": other,
        "locked": locked(desk),
        "let": Action(_("Create an exception"), reverse("console:separation_let", args=[rule.pk])),
        "empty": Empty(
            _("Nobody has both"), _("A change that would give anyone both is refused."), drawn=False
        ),
    }
    return show(request, "console/separation/rule.html", desk.ward, context)


def only(desk: SeparationContext, rule: SeparationRule) -> Book:
    """The book of one rule, with the objects that it speaks of."""
    book = Book([rule], desk.book.exceptions, desk.book.now, desk.book.places, desk.book.asked)
    book.learn(side.key for side in book.sides())
    return book


def _lines(desk: SeparationContext, rule: SeparationRule, book: Book) -> Iterable[ViolationRow]:
    for violation in desk.found(book):
        person = violation.clash.person
        query = f"?{urlencode({'who': str(person)})}"
        let = Action(
            _("Create an exception") if violation.clash.exception is None else _("Extend"),
            f"{reverse('console:separation_let', args=[rule.pk])}{query}",
            "mini",
            more=f": {person.label}",
        )
        end = Action(
            _("End"),
            f"{reverse('console:separation_let_end', args=[rule.pk])}{query}",
            "mini danger",
            more=_("the exception of %(label)s") % {"label": person.label},
        )
        yield line(violation, book, action=let, let_end=end if violation.clash.exception else None)


class RuleChangeView(ChangeView):
    """A change of a rule of separation, or of who is let by it."""

    rule: SeparationRule
    cannot: StrOrPromise = ""

    def get_object(self) -> SeparationContext:
        desk, self.rule = rule_at(self.request, self.kwargs["id"])
        return desk

    def refusal(self) -> HttpResponse | None:
        return None if self.object.writes else refused(self.request, self.object, self.cannot)

    def back(self) -> str:
        return reverse("console:separation_rule", args=[self.rule.pk])

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show(self.request, self.template_name, self.object.ward, context, status=status)


class EndRuleView(RuleChangeView):
    """What its end means, then it ends."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    cannot = gettext_lazy("end rules of separation")

    @cached_property
    def book(self) -> Book:
        return only(self.object, self.rule)

    def plan(self, form: ConfirmForm) -> Plan:
        if self.rule.closed is not None:
            return Plan(nothing=True, notes=(Note("", _("This rule has ended before.")),))
        lines = [DiffLine("change", _("Anyone"), _("may be given both from then on"))]
        if let := sum(key[0] == self.rule.pk for key in self.book.exceptions):
            lines.append(DiffLine("lose", words.count(let, "exception"), _("ends with it")))
        return Plan(diff=Diff(tuple(lines)))

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        root, reason = self.object.ward.root, form.cleaned_data["reason"]
        separation.end(self.rule, root, by=actor, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        if self.revision is None:
            return _("Nothing changed: it had ended before")
        return _("The rule %(name)s has ended") % {"name": self.rule.name}

    def heading(self, form: ConfirmForm) -> str:
        return _("End the rule %(name)s?") % {"name": self.rule.name}

    def lead(self) -> str:
        seen = self.object.seen(self.book)
        first, second = (side_words(side, seen) for side in sides_of(self.rule))
        return f"{first}; {second}"

    def button(self, form: ConfirmForm) -> str:
        return _("End the rule")

    def back(self) -> str:
        return reverse("console:separation", args=[self.object.ward.root.id])
