"""The one door to a review: what is nobody's business reads like what is absent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs, Fact, Tab, Tabs
from authzsite.console.kit.http import Request, asker_of
from catalog.nodes import Node
from catalog.queries import root
from policies.authority import Actor
from policies.models import Review, review_states
from policies.record import access_log
from policies.reviews import worklist
from policies.reviews.worklist import ReviewRole

VIA = "console"


@dataclass(frozen=True)
class ReviewAccess:
    """Somebody at a review, with their part in it."""

    review: Review
    asker: Principal
    standing: ReviewRole

    @cached_property
    def root(self) -> Node:
        return root(self.review.realm)

    @property
    def actor(self) -> Actor:
        return Actor(self.asker, VIA)

    @property
    def is_open(self) -> bool:
        return self.review.state == "open"

    @property
    def is_over(self) -> bool:
        return self.review.state in ("closing", "proving", "closed", "cancelled")

    @property
    def state_words(self) -> str:
        return _(review_states.REVIEW.words[self.review.state])

    def url(self, name: str = "review", *more: object) -> str:
        return reverse(f"console:{name}", args=[self.review.pk, *more])

    def crumbs(self, *, inner: bool = False) -> Crumbs:
        own = ((self.review.title, self.url()),) if inner else ()
        return Crumbs(((_("Reviews"), reverse("console:reviews")), *own))

    def tabs(self, current: str) -> Tabs | None:
        """The pages of one review that this person may open."""
        tabs = []
        if self.standing.asked:
            tabs.append(Tab(_("Decide") if self.is_open else _("Rows"), self.url(), current == "review"))
        if self.standing.reads:
            tabs.append(Tab(_("Progress"), self.url("review_lead"), current == "review_lead"))
        if self.is_over or self.standing.reads:
            tabs.append(Tab(_("Result"), self.url("review_result"), current == "review_result"))
        return Tabs(tuple(tabs)) if len(tabs) > 1 else None

    @property
    def due_words(self) -> str:
        due = self.review.due
        return f"{words.day(due)}, {words.ends_in(due)}"

    @property
    def due_fact(self) -> Fact:
        """When it is due; of a review that is over, when deciding ended, which may be earlier."""
        if self.is_over and self.review.ended:
            return Fact(_("Ended"), words.day(self.review.ended))
        return Fact(_("Due"), self.due_words if self.is_open else words.day(self.review.due))


def get_review_or_404(request: Request, id: int) -> ReviewAccess:
    """The review of that number; Http404 for viewers it does not concern.  The view is recorded."""
    asker = asker_of(request)
    review = Review.objects.filter(pk=id).select_related("realm", "starter", "fallback").first()
    standing = worklist.standing(review, asker) if review else None
    if review is None or not standing:
        access_log.refused(asker, "review", None, name=f"review {id}", via=VIA)
        raise Http404
    visit = ReviewAccess(review, asker, standing)
    access_log.looked(asker, f"access in review {id}", visit.root, via=VIA)
    return visit
