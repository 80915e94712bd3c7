"""Reassigning rows: a reviewer's own to a colleague; for the review's leader, what another owes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect

from accounts.models import Principal
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.reviews.access import Visit, meet
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import admitted
from policies.errors import PolicyError
from policies.models import ReviewRow
from policies.reviews import worklist
from policies.reviews.delegation import pass_on
from policies.reviews.worklist import OPEN
from policies.services.grants import revision_now


class Passing:
    """Whose open rows go, and to whom."""

    def __init__(self, visit: Visit, data: QueryDict, asked: QueryDict) -> None:
        self.visit, self.data, self.address = visit, data, asked

    @cached_property
    def of(self) -> Principal | None:
        """Whose rows; None for those that nobody can be asked about."""
        code = self.address.get("of", "")[:300]
        if code and self.visit.standing.leads:
            return somebody(code)
        return self.visit.asker if self.visit.standing.asked else None

    @cached_property
    def rows(self) -> QuerySet[ReviewRow]:
        if self.of is not None:
            return worklist.rows_of(self.visit.review, self.of).filter(OPEN)
        return worklist.rows_of(self.visit.review).filter(OPEN, desk__isnull=True)

    @cached_property
    def to(self) -> Among:
        nobody = f"Nobody of that name is in {self.visit.root.name}."
        return Among(self.data, search=self._people, nobody_words=nobody, at_most=1)

    def _people(self, text: str) -> QuerySet[Principal]:
        known = admitted(self.visit.root, text).filter(kind="user")
        return known.exclude(pk=self.of.pk) if self.of else known


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """To whom, how many rows, why; then the rows are theirs."""
    visit = meet(request, id)
    if not visit.is_open or not (visit.standing.asked or visit.standing.leads):
        raise Http404
    passing = Passing(visit, request.POST if request.method == "POST" else request.GET, request.GET)
    asked = passing.to
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _show(request, passing, [])
    if not asked.check_who():
        return _show(request, passing, [])
    actor = Actor(visit.asker, "console", request_id=asked.nonce)
    if done_before(actor) is None:
        try:
            rows = list(passing.rows.values_list("pk", flat=True))
            many = pass_on(visit.review, asked.chosen[0], by=actor, rows=rows, reason=asked.reason)
        except PolicyError as problem:
            return _show(request, passing, [Note("bad", "Not passed on.", f"{problem} Your form is kept.")])
        say(request, f"{words.count(many, 'row')} passed on to {asked.chosen[0].label}")
    return redirect(visit.url("review_lead") if visit.standing.reads else "console:reviews")


def _show(request: Request, passing: Passing, notes: list[Note]) -> HttpResponse:
    visit, asked = passing.visit, passing.to
    many = words.count(passing.rows.count(), "row")
    own = passing.of is not None and passing.of.pk == visit.asker.pk
    whose = "your" if own else f"{passing.of.label}'s" if passing.of else "the"
    context: dict[str, Any] = {
        "heading": f"Pass {whose} {many} on",
        "place": f"{visit.review.title}. What is decided stays as it is.",
        "notes": notes,
        "here": request.get_full_path(),
        "back": visit.url(),
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "who_label": "To whom",
        "reason": asked.reason,
        "problems": asked.problems,
        "button": f"Pass them on to {asked.chosen[0].label}" if asked.chosen else "Pass them on",
        "tally": None,
        "diff": Diff(tuple(_lines(passing, many))) if asked.chosen else None,
        "preview_empty": "Name somebody who can sign in. Their own access stays with somebody else.",
        "sum": "",
    }
    failed = bool(asked.problems) and asked.data.get("step") == "save"
    status = 422 if failed or notes else 200
    return page(request, "console/roles/assign.html", context, room="reviews", status=status)


def _lines(passing: Passing, many: str) -> Iterable[DiffLine]:
    to = passing.to.chosen[0]
    if passing.of is not None:
        yield DiffLine("lose", passing.of.label, f"is no longer asked about {many}")
    yield DiffLine("gain", to.label, f"is asked about {many}", "Except their own access.")
