"""`/authz/v1/reviews`: everything about access reviews that the console's pages can do."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

from django.http import FileResponse, HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.review_bodies import plan_of, row_wire, verdicts_of, wire, wires
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

    def get(self, request: Request) -> HttpResponse:
        caller, asked = self.require_scope("audit"), request.GET.dict()
        after, limit = named.cursor(asked, LIST), named.limit(asked)
        rows = worklist.reviews_for(caller.principal)
        if after:
            rows = rows.filter(pk__lt=after[0])
        found = list(rows[: limit + 1])
        last = [found[limit - 1].pk] if len(found) > limit else None
        return respond(named.listed(wires(found[:limit]), last, LIST))

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("manage")
        body = read_object(request._request)
        made = start.start(
            plan_of(body, caller.actor()), by=caller.actor(), reason=str(body.get("reason", ""))
        )
        return respond(wire(made), 201)


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

    def get(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        counts = worklist.counts(review, None if standing.reads else caller.principal)
        return respond({**wire(review), "counts": counts})


class Rows(_OfOne):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        caller, asked = self.require_scope("audit"), request.GET.dict()
        review, standing = self.found(id, caller.principal)
        every = asked.get("all", "") in ("true", "1")
        if every and not standing.reads:
            raise Refused("You see the rows that you are asked about.")
        page = worklist.page(
            review,
            None if every else caller.principal,
            view=asked.get("order") or "risk",
            only=asked.get("only") or "open",
            text=asked.get("text", ""),
            after=named.cursor(asked, ROWS),
            limit=named.limit(asked),
        )
        return respond(named.listed([row_wire(row) for row in page.rows], page.next, ROWS))


class Effect(_OfOne):
    http_method_names = ["get"]

    def get(self, request: Request, id: int, number: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        rows = worklist.rows_of(review, None if standing.reads else caller.principal)
        row = rows.filter(number=number).select_related("holder", "group").first()
        if row is None:
            raise NotFound("There is no such row.")
        found = consequences.of(review, [row])[row.pk]
        return respond(
            {
                "loses": [_loss(one) for one in found.loses],
                "gains": [_loss(one) for one in found.gains],
                "keeps": [_loss(one) for one in found.keeps],
                "rows": sorted(one.number for one in found.rows),
                "unseen": found.unseen,
            }
        )


def _loss(one: consequences.Lost | consequences.KeptAccess) -> dict[str, Any]:
    return {"principal": str(one.person), "object": one.object, "actions": list(one.actions)}


class Decisions(_OfOne):
    http_method_names = ["post"]

    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = read_object(request._request)
        verdicts, numbers = verdicts_of(review, body)
        done = decisions.decide(review, verdicts, by=caller.actor(), seconds=_seconds(body))
        refused = [{"row": numbers[pk], "detail": why} for pk, why in done.refused]
        answer = {"decided": [numbers[pk] for pk in done.decided], "refused": refused}
        return respond(answer, 200 if done.decided else 409)


def _seconds(body: Mapping[str, Any]) -> float | None:
    value = body.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86400:
        raise BadBody("seconds must be a number from 0 to 86400")
    return float(value)


class Deed(_OfOne):
    """Close, extend, call off, repeat: what a review's leader does with it."""

    http_method_names = ["post"]
    deed = ""

    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = read_object(request._request) if request._request.body else {}
        by, reason = caller.actor(), str(body.get("reason", ""))[:4000]
        if self.deed == "extend":
            review = management.extend(review, _whole(body, "days"), by=by, reason=reason)
        elif self.deed == "repeat":
            every = None if body.get("every") is None else _whole(body, "every")
            review = management.repeat(review, every, by=by, reason=reason)
        else:
            act = management.end if self.deed == "close" else management.cancel
            review = act(review, by=by, reason=reason)
        return respond(wire(review))


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadBody(f"{name} must be a whole number")
    return value


class Pass(_OfOne):
    http_method_names = ["post"]

    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("manage")
        review, _ = self.found(id, caller.principal)
        body = read_object(request._request)
        to = _colleague(named.text(body, "to"), review, caller.principal)
        if to is None:
            raise NotFound("There is nobody of that name.")
        numbers = body.get("rows")
        if numbers is not None and not _numbers(numbers):
            raise BadBody("rows must be a list of numbers")
        chosen = None if numbers is None else worklist.keys(review, numbers).values()
        many = delegation.pass_on(
            review, to, by=caller.actor(), rows=chosen, reason=str(body.get("reason", ""))[:4000]
        )
        return respond({"passed": many})


def _colleague(text: str, review: Review, viewer: Principal) -> Principal | None:
    """Whom a name means among the people of the review's realm and those the viewer may look up."""
    found = named.somebody(text)
    if found is not None and admitted(events.place_of(review)).filter(pk=found.pk).exists():
        return found
    return named.somebody_known(text, viewer)


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, int) and one < 2**31 for one in value)


class Exceptions(_OfOne):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        caller, asked = self.require_scope("audit"), request.GET.dict()
        review, standing = self.found(id, caller.principal)
        _reads(standing)
        after, limit = named.cursor(asked, LEFT), named.limit(asked)
        found = completion.listed(review, after=after[0] if after else 0, limit=limit + 1)  # type: ignore[arg-type]
        rows = [
            {"row": one.row.number, "why": one.why, "owner": str(one.owner), "until": one.until.isoformat()}
            for one in found[:limit]
        ]
        last = [found[limit - 1].row.number] if len(found) > limit else None
        return respond(named.listed(rows, last, LEFT))


class Paces(_OfOne):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        review, standing = self.found(id, self.require_scope("audit").principal)
        _reads(standing)
        rows = [{**vars(one), "reviewer": str(one.reviewer)} for one in pace_checks.paces(review)]
        return respond({"results": rows})


class Evidence(_OfOne):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("audit")
        review, standing = self.found(id, caller.principal)
        place = events.place_of(review)
        if not (standing.leads or duties.has(caller.principal, EXPORT, place)):
            raise Refused("Who leads the review, and who may export the history, take its evidence away.")
        name = f"review-{review.pk}.zip"
        target = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
        review_evidence.write(target, review, name=name)
        target.seek(0)
        return FileResponse(target, as_attachment=True, filename=name, content_type="application/zip")  # type: ignore[return-value]


def _reads(standing: ReviewRole) -> None:
    if not standing.reads:
        raise Refused("Who leads the review, and who may read the history, see this.")
