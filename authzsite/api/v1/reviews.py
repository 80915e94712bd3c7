"""`/authz/v1/reviews`: everything about access reviews that the console's pages can do."""

from __future__ import annotations

import tempfile

from django.http import FileResponse, HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.surface import respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import PAGED, described, page_of
from authzsite.api.v1.review_serializers import (
    DecidedSerializer,
    ExceptionSerializer,
    Extension,
    HandOver,
    NewDecisions,
    NewReview,
    PacesSerializer,
    PassedSerializer,
    Reason,
    Repetition,
    ReviewEffectSerializer,
    ReviewRowSerializer,
    ReviewSerializer,
    ReviewWithCountsSerializer,
    plan_of,
    review_answer,
    review_answers,
    verdicts_of,
)
from authzsite.downloads import review_evidence
from policies.decisions import duties
from policies.decisions.lookups.visible_objects import admitted
from policies.errors import NotFound, Refused
from policies.models import Review
from policies.record import access_log
from policies.reviews import (
    completion,
    consequences,
    decisions,
    delegation,
    events,
    management,
    pace_checks,
    start,
    worklist,
)
from policies.reviews.worklist import ReviewRole

LIST, ROWS, LEFT = "reviews", "review-rows", "review-exceptions"
EXPORT = "export_history"


class Reviews(Call):
    http_method_names = ["get", "post"]

    @described(
        "Reviews that the caller started or reviews in", "audit", page_of(ReviewSerializer), query=PAGED
    )
    def get(self, request: Request) -> HttpResponse:
        caller, query = self.require_scope("audit"), request.GET.dict()
        shown, after = named.newest(worklist.reviews_for(caller.principal), query, LIST)
        return respond(named.listed(review_answers(shown), after, LIST))

    @described(
        "Review access: for callers who may grant there",
        "manage",
        ReviewSerializer,
        body=NewReview,
        status=201,
    )
    def post(self, request: Request) -> HttpResponse:
        by, body = self.require_scope("manage").actor(), NewReview.read(request)
        made = start.start(plan_of(body, by), by=by, reason=body["reason"])
        return respond(review_answer(made), 201)


_GONE = {404: "there is none that you may see"}
_LATE = {409: "it was already decided, or it is over"} | _GONE


class _OfOne(Call):
    """A call about one review, which reads like an absent one to those whom it does not concern."""

    def found(self, id: int, person: Principal) -> tuple[Review, ReviewRole]:
        review = Review.objects.filter(pk=id).select_related("starter", "realm", "fallback").first()
        standing = worklist.standing(review, person) if review else None
        if review is None or not standing:
            access_log.refused(person, "review", None, name=f"review {id}", via="api")
            raise NotFound("There is no such review.")
        access_log.looked(person, f"access in review {id}", events.place_of(review), via="api")
        return review, standing


class OneReview(_OfOne):
    http_method_names = ["get"]

    @described("The progress of a review", "audit", ReviewWithCountsSerializer, others=_GONE)
    def get(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        counts = worklist.counts(review, None if standing.reads else caller.principal)
        return respond({**review_answer(review), "counts": counts})


class Rows(_OfOne):
    http_method_names = ["get"]

    @described(
        "The caller's rows, or with `all` every row",
        "audit",
        page_of(ReviewRowSerializer),
        query=("order", "only", "all", "text", *PAGED),
        others=_GONE,
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        caller, query = self.require_scope("audit"), request.GET.dict()
        review, standing = self.found(id, caller.principal)
        every = query.get("all", "") in ("true", "1")
        if every and not standing.reads:
            raise Refused("You may see only the rows that you review.")
        page = worklist.page(
            review,
            None if every else caller.principal,
            view=query.get("order") or "risk",
            only=query.get("only") or "open",
            text=query.get("text", ""),
            after=named.cursor(query, ROWS),
            limit=named.limit(query),
        )
        return respond(named.listed(ReviewRowSerializer.of_each(page.rows), page.next, ROWS))


class Effect(_OfOne):
    http_method_names = ["get"]

    @described("The effect of removing a row", "audit", ReviewEffectSerializer, others=_GONE)
    def get(self, request: Request, id: int, number: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        rows = worklist.rows_of(review, None if standing.reads else caller.principal)
        row = rows.filter(number=number).select_related("holder", "group").first()
        if row is None:
            raise NotFound("There is no such row.")
        consequence = consequences.of(review, [row])[row.pk]
        rows_that_go = sorted(each.number for each in consequence.rows)
        return respond(ReviewEffectSerializer({**vars(consequence), "rows": rows_that_go}).data)


class Decisions(_OfOne):
    @described("Decide rows in one step", "manage", DecidedSerializer, body=NewDecisions, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = NewDecisions.read(request)
        verdicts, numbers = verdicts_of(review, body["decisions"])
        done = decisions.decide(review, verdicts, by=caller.actor(), seconds=body["seconds"])
        refused = [{"row": numbers[pk], "detail": why} for pk, why in done.refused]
        answer = {"decided": [numbers[pk] for pk in done.decided], "refused": refused}
        return respond(answer, 200 if done.decided else 409)


class Close(_OfOne):
    @described(
        "End a review now; decisions are carried out",
        "manage",
        ReviewSerializer,
        body=Reason,
        others=_LATE,
    )
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = Reason.read(request, optional=True)
        return respond(review_answer(management.end(review, by=caller.actor(), reason=body["reason"])))


class Extend(_OfOne):
    @described("Extend a review", "manage", ReviewSerializer, body=Extension, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = Extension.read(request, optional=True)
        review = management.extend(review, body["days"], by=caller.actor(), reason=body["reason"])
        return respond(review_answer(review))


class Cancel(_OfOne):
    @described("Cancel a review; nothing is removed", "manage", ReviewSerializer, body=Reason, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = Reason.read(request, optional=True)
        return respond(review_answer(management.cancel(review, by=caller.actor(), reason=body["reason"])))


class Repeat(_OfOne):
    @described(
        "Repeat a review every few months, or stop",
        "manage",
        ReviewSerializer,
        body=Repetition,
        others=_LATE,
    )
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = Repetition.read(request, optional=True)
        review = management.repeat(review, body["every"], by=caller.actor(), reason=body["reason"])
        return respond(review_answer(review))


class Pass(_OfOne):
    @described("Pass rows to another reviewer", "manage", PassedSerializer, body=HandOver, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = HandOver.read(request)
        # whom a name means among the people of the review's realm and those the viewer may look up
        text = body["to"]
        principal = named.somebody(text)
        to = (
            principal
            if principal is not None and admitted(events.place_of(review)).filter(pk=principal.pk).exists()
            else named.somebody_known(text, caller.principal)
        )
        if to is None:
            raise NotFound("There is no person with that name.")
        chosen = None if body["rows"] is None else worklist.keys(review, body["rows"]).values()
        many = delegation.pass_on(review, to, by=caller.actor(), rows=chosen, reason=body["reason"])
        return respond({"passed": many})


class Exceptions(_OfOne):
    http_method_names = ["get"]

    @described("Exceptions of a review", "audit", page_of(ExceptionSerializer), query=PAGED, others=_GONE)
    def get(self, request: Request, id: int) -> HttpResponse:
        caller, query = self.require_scope("audit"), request.GET.dict()
        review, standing = self.found(id, caller.principal)
        _reads(standing)
        after, limit = named.cursor(query, LEFT), named.limit(query)
        last_seen = after[0] if after and isinstance(after[0], int) else 0
        review_rows = completion.listed(review, after=last_seen, limit=limit + 1)
        rows = ExceptionSerializer.of_each(review_rows[:limit])
        last = [review_rows[limit - 1].row.number] if len(review_rows) > limit else None
        return respond(named.listed(rows, last, LEFT))


class Paces(_OfOne):
    http_method_names = ["get"]

    @described("Pace of each reviewer", "audit", PacesSerializer, others=_GONE)
    def get(self, request: Request, id: int) -> HttpResponse:
        review, standing = self.found(id, self.require_scope("audit").principal)
        _reads(standing)
        return respond(PacesSerializer({"results": pace_checks.paces(review)}).data)


class Evidence(_OfOne):
    http_method_names = ["get"]

    @described(
        "The evidence of a review, a signed zip archive",
        "audit",
        {"type": "string", "format": "binary"},
        media="application/zip",
        others=_GONE,
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        place = events.place_of(review)
        if not (standing.leads or duties.has(caller.principal, EXPORT, place)):
            raise Refused(
                "Only the review's leader, and people who may export the history, can take its evidence."
            )
        name = f"review-{review.pk}.zip"
        target = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
        review_evidence.write(target, review, name=name)
        target.seek(0)
        return FileResponse(target, as_attachment=True, filename=name, content_type="application/zip")  # type: ignore[return-value]


def _reads(standing: ReviewRole) -> None:
    if not standing.reads:
        raise Refused("Only the review's leader, and people who may read the history, can see this.")
