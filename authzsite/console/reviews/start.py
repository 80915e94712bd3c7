"""Starting a review: over what, by whom, until when, what silence means; counted before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext

from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.change_view import Plan as PlanShown
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Count, Crumbs, Diff, DiffLine, Tally, Verdict
from authzsite.console.kit.forms import (
    ChoicesField,
    ConsoleForm,
    NumberInput,
    PrincipalField,
    SegmentsField,
    TextField,
    WholeNumberField,
)
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.page import page
from authzsite.console.reviews.reviewed_objects import ObjectsField, may_review
from policies.authority import Actor
from policies.errors import Invalid, PolicyError
from policies.events import REVIEW_STARTED
from policies.models import Event, Review
from policies.record import access_log
from policies.reviews import start
from policies.reviews.campaign_plans import RISKS, Plan, Scope, Stage
from policies.reviews.estimates import Estimate, Inherited, estimate, inherited
from policies.services.grants import revision_now

EVERY = (
    (0, gettext_lazy("Never")),
    (1, gettext_lazy("Every month")),
    (3, gettext_lazy("Every 3 months")),
    (6, gettext_lazy("Every 6 months")),
    (12, gettext_lazy("Every year")),
)
SILENCE = (
    ("keep", gettext_lazy("Access stays"), gettext_lazy("Rows without a decision stay as they are.")),
    (
        "remove",
        gettext_lazy("Access is removed"),
        gettext_lazy("Rows without a decision are removed. People lose access."),
    ),
    ("escalate", gettext_lazy("I decide"), gettext_lazy("Rows without a decision wait for you at the end.")),
)
REASONS = (
    ("never", gettext_lazy("Never")),
    ("changes", gettext_lazy("For removals and other changes")),
    ("far", gettext_lazy("For changes and high-risk rows")),
    ("always", gettext_lazy("Always")),
)
WHO = (
    (
        "owner",
        gettext_lazy("The owners"),
        gettext_lazy("Each row goes to the owner of the object, or to the nearest owner above."),
    ),
    (
        "keeper",
        gettext_lazy("Keepers and owners"),
        gettext_lazy("Service accounts go to their keepers, everything else to owners."),
    ),
    (
        "duty",
        gettext_lazy("Holders of the duty"),
        gettext_lazy("People with the duty to review access there."),
    ),
    ("people", gettext_lazy("People I name"), ""),
    ("starter", gettext_lazy("Only me"), ""),
)
SECOND = (
    ("", gettext_lazy("Nobody: one round")),
    *((code, word) for code, word, _ in WHO if code != "people"),
)
NAMED = 3
"""Of so many chosen objects it is said why nothing on them can be reviewed."""
COUNT_FIRST = gettext_lazy("Choose what to review: the preview counts it before anything begins.")


def _one_of(pairs: Iterable[tuple[Any, ...]], usual: str, **kwargs: Any) -> SegmentsField:
    choices = [(str(item[0]), item[1]) for item in pairs]
    return SegmentsField(choices=choices, otherwise=usual, required=False, **kwargs)


def _number(least: int, most: int, usual: int, **kwargs: Any) -> WholeNumberField:
    kwargs.setdefault("initial", usual)
    return WholeNumberField(
        least=least, most=most, empty=usual, required=False, max_length=4, widget=NumberInput(4), **kwargs
    )


class ReviewForm(ConsoleForm):
    """What a review is to be, as it is filled in."""

    title = TextField(
        label=gettext_lazy("Name of the review"),
        max_length=200,
        error_messages={"required": gettext_lazy("Enter a name by which reviewers recognize it.")},
        widget=forms.TextInput(
            attrs={"class": "input", "placeholder": gettext_lazy("Sales data, 4th quarter")}
        ),
    )
    what = ObjectsField()
    risk = ChoicesField(required=False)
    services = forms.BooleanField(required=False)
    by = _one_of(WHO, "owner")
    who = PrincipalField(
        label=gettext_lazy("Reviewers"),
        required=False,
        nobody=gettext_lazy("No person with that name can be asked."),
    )
    days = _number(1, 366, 14, label=gettext_lazy("Days"))
    every = _one_of(EVERY, "0", label=gettext_lazy("Repeat"), widget=forms.Select(attrs={"class": "input"}))
    silence = _one_of(SILENCE, "keep")
    reasons = _one_of(REASONS, "changes")
    purpose = TextField(
        label=gettext_lazy("Message to reviewers"),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"class": "input", "rows": 2}),
    )
    second = _one_of(
        SECOND,
        "",
        label=gettext_lazy("Then ask"),
        help_text=gettext_lazy("Undecided and unsure rows go there."),
        widget=forms.Select(attrs={"class": "input"}),
    )
    days2 = _number(1, 366, 14, label=gettext_lazy("Days"), initial=7)
    bulk = _number(
        1,
        200,
        20,
        label=gettext_lazy("Most rows in one step"),
        help_text=gettext_lazy("High-risk rows are kept one at a time in any case."),
    )
    pace = _number(0, 600, 3, label=gettext_lazy("Quick: fewer seconds than"))
    sample = _number(0, 100, 10, label=gettext_lazy("Sample of quick decisions, %"))

    def __init__(self, data: Any = None, *, circle: VisiblePrincipals, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["what"].circle = circle
        self.fields["who"].search = lambda text: circle.people(text, kind="user")
        self.fields["risk"].offer((code, gettext(text), "") for code, text in RISKS.items())

    @property
    def limits(self) -> list[forms.BoundField]:
        """A second round, and how fast decisions may be made."""
        return [self[name] for name in ("second", "days2", "bulk", "pace", "sample")]

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("by") != "people":
            self.errors.pop("who", None)
        elif self.cleaned_data.get("who") == []:
            self.add_error("who", gettext("Enter at least one person or group."))
        return self.cleaned_data

    def number(self, name: str) -> int:
        """A number of the form, or the usual one while it is none."""
        number: int = self.cleaned_data.get(name, self.fields[name].empty)
        return number

    @property
    def stages(self) -> tuple[Stage, ...]:
        by, second = self.cleaned_data.get("by", "owner"), self.cleaned_data.get("second", "")
        first = Stage(by, tuple(self["who"].chosen) if by == "people" else (), self.number("days"))
        return (first, Stage(second, (), self.number("days2"))) if second else (first,)

    @property
    def scope(self) -> Scope:
        chosen, typed = self["what"].choice.chosen, self.cleaned_data
        where = tuple(item for item in chosen if item.type != "role")
        some = tuple(item for item in chosen if item.type == "role")
        return Scope(where, (), some, typed.get("services", False), tuple(typed.get("risk", ())))

    @cached_property
    def plan(self) -> Plan:
        typed = self.cleaned_data
        return Plan(
            title=typed.get("title", ""),
            scope=self.scope,
            stages=self.stages,
            purpose=typed.get("purpose", ""),
            silence=typed.get("silence", "keep"),
            reasons=typed.get("reasons", "changes"),
            bulk=self.number("bulk"),
            pace=self.number("pace"),
            sample=self.number("sample"),
            every=int(typed.get("every", 0)) or None,
        )


class StartReviewView(ChangeView):
    """What it is about, who is asked, what silence does; counted; then it begins in the background."""

    template_name = "console/reviews/start.html"
    looks_first = True
    naming_buttons = frozenset({"add", "drop", "add_on", "off"})
    not_saved = gettext_lazy("Not started.")
    object: VisiblePrincipals

    def get_object(self) -> VisiblePrincipals:
        return circle_of(self.request)

    def refusal(self) -> HttpResponse | None:
        return None if self.object.gives_access else _refused(self.request, self.object)

    def make_form(self, data: Any) -> ReviewForm:
        return ReviewForm(data, circle=self.object)

    def plan(self, form: ReviewForm) -> PlanShown:
        self.counted: Estimate | None = None
        if form["what"].choice.chosen:
            try:
                self.counted = estimate(form.plan, Actor(self.asker, "console"))
            except PolicyError as problem:
                return PlanShown(empty=str(problem))
        lines = _nothing(form.plan.scope, self.object) if self.reviews_nothing else _lines(self.counted)
        return PlanShown(
            tally=_tally(self.counted), diff=Diff(tuple(lines)) if lines else None, empty=COUNT_FIRST
        )

    @property
    def reviews_nothing(self) -> bool:
        """Whether what is chosen was counted, and has no row; then there is nothing to start."""
        return self.counted is not None and not self.counted.rows

    def save(self, form: ReviewForm, actor: Actor) -> Review:
        if not estimate(form.plan, actor).rows:
            raise Invalid(gettext("There is nothing to review: no row matches."))
        return start.start(form.plan, by=actor)

    def success_message(self, form: ReviewForm) -> str:
        title = form.plan.title
        return gettext("%(title)s is being prepared; reviewers are notified when all rows are ready") % {
            "title": title
        }

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        made = self.result or self._made_before()
        return reverse("console:review", args=[made.pk]) if made else self.back()

    def _made_before(self) -> Review | None:
        """The review that this form started when it came the first time."""
        event = Event.objects.filter(change=self.revision or 0, kind=REVIEW_STARTED).first()
        return Review.objects.filter(pk=event.data["review"]).first() if event else None

    def heading(self, form: ReviewForm) -> str:
        return gettext("Start a review")

    def lead(self) -> str:
        return gettext("Reviewers see each access row and decide whether it is still needed.")

    def button(self, form: ReviewForm) -> str:
        return (
            gettext("Start the review of %(rows)s") % {"rows": words.count(self.counted.rows, "row")}
            if self.counted and self.counted.rows
            else gettext("Start the review")
        )

    def back(self) -> str:
        return reverse("console:reviews")

    def page_context(self, form: ReviewForm) -> dict[str, Any]:
        due = timezone.now() + timedelta(days=sum(stage.days for stage in form.stages))
        form.fields["days"].help_text = gettext("Until %(due)s, %(zone)s.") % {
            "due": words.moment(due),
            "zone": words.zone(),
        }
        return {
            "crumbs": Crumbs(((gettext("Reviews"), reverse("console:reviews")),)),
            "reviews_nothing": self.reviews_nothing,
            "who": [(code, word, text, code == form["by"].value()) for code, word, text in WHO],
            "silence": [(code, word, text, code == form["silence"].value()) for code, word, text in SILENCE],
            "reasons": [(code, word, code == form["reasons"].value()) for code, word in REASONS],
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        chosen = context["form"]["what"].choice.chosen
        return page(
            self.request,
            self.template_name,
            context,
            section="reviews",
            realm=chosen[0].realm if chosen else "",
            revision=revision_now(),
            status=status,
        )


def _refused(request: Request, circle: VisiblePrincipals) -> HttpResponse:
    access_log.refused(circle.asker, "review", None, name=request.path, via="console")
    text = gettext("Only people who may grant access to an object can start a review of it. Ask an owner.")
    context = {
        "verdict": Verdict("no", gettext("You cannot start a review"), text, level=1),
        "actions": (Action(gettext("Back to Reviews"), reverse("console:reviews")),),
    }
    return page(request, "errors/refused.html", context, section="reviews", status=403)


def _tally(counted: Estimate | None) -> Tally | None:
    if counted is None:
        return None
    counts = [Count(words.number(counted.rows), ngettext("row", "rows", counted.rows))]
    if counted.people:
        kinds = ngettext("person, group or service", "people, groups and services", counted.people)
        counts.append(Count(words.number(counted.people), kinds))
    return Tally(tuple(counts))


def _lines(counted: Estimate | None) -> list[DiffLine]:
    """How many rows of each kind there are."""
    if counted is None:
        return []
    lines = [
        DiffLine("same", words.number(many), str(KINDS.get(kind, kind)))
        for kind, many in counted.kinds
        if many
    ]
    if counted.narrowed:
        lines.append(
            DiffLine(
                "lack", gettext("Fewer"), gettext("than these: only rows with the chosen risks are included")
            )
        )
    return lines


def _nothing(scope: Scope, circle: VisiblePrincipals) -> list[DiffLine]:
    """Why a review of this has no row, and what to review instead."""
    if scope.services:
        text = gettext("no service account has access there that could be reviewed")
        return [DiffLine("same", gettext("Nothing"), text)]
    if not scope.where:
        return [DiffLine("same", gettext("Nothing"), gettext("nobody holds the chosen roles"))]
    return [line for place in scope.where[:NAMED] for line in _why_empty(inherited(place), circle)]


def _why_empty(reach: Inherited, circle: VisiblePrincipals) -> Iterable[DiffLine]:
    name = reach.node.name
    if not reach.sources:
        text = gettext("nobody but its owners has access to %(name)s") % {"name": name}
        yield DiffLine("same", gettext("Nothing"), text)
        return
    text = gettext("is granted on %(name)s itself, so there is no row to decide") % {"name": name}
    yield DiffLine("same", gettext("Nothing"), text)
    sources = words.listed([terms.short_name(source) for source in reach.sources], 3)
    text = gettext("with access from above: %(sources)s. It is reviewed there.") % {"sources": sources}
    mine = next((source for source in reach.sources if may_review(circle, source)), None)
    url = f"{reverse('console:review_new')}?on={mine.id}" if mine else ""
    link = gettext("Review %(name)s instead") % {"name": terms.short_name(mine)} if mine else ""
    note = "" if mine else gettext("Its owner can start that review.")
    yield DiffLine("same", words.count(reach.people, "person", "people"), text, note, url, link)


KINDS = {
    "direct": gettext_lazy("granted directly"),
    "assigned": gettext_lazy("held through a role"),
    "rules": gettext_lazy("granted by roles that you cannot change"),
    "members": gettext_lazy("group memberships"),
    "owned": gettext_lazy("ownerships"),
    "foreign": gettext_lazy("found in a backend, not granted here"),
}
