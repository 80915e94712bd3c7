"""Reviews in the words of an owner."""

from __future__ import annotations

from typing import Any

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor
from policies.models import Review, ReviewRow
from policies.reviews import decisions, population, start
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.reviews.decisions import Outcome, Verdict
from tests.factories import the


def person(name: str) -> Principal:
    """`ana`, `group:analysts`, `service:etl`."""
    kind, _, name = name.rpartition(":")
    return people.ensure(kind or "user", name)


def can_sign_in(*names: str) -> None:
    for name in names:
        people.make_account(name)


def acts(name: str) -> Actor:
    return Actor(person(name), "console")


def a_review(*where: Node, by: str = "olivia", built: bool = True, **more: Any) -> Review:
    """A review of what is given on the objects and below, by default of shop.sales by its owner.

    No lot falls on decisions made quickly, as tests make them, unless a test says how many are drawn.
    """
    scope_of = {name: more.pop(name) for name in ("people", "roles", "services", "risks") if name in more}
    objects = where if where or "roles" in scope_of else (the("schema", "shop.sales"),)
    plan = Plan(
        "Sales data", Scope(objects, **scope_of), **{"stages": (Stage("owner"),), "sample": 0, **more}
    )
    review = start.start(plan, by=acts(by))
    if built:
        population.build(review)
        review.refresh_from_db()
    return review


def rows(review: Review) -> dict[str, ReviewRow]:
    """The rows by who and what: `ana shop.sales.orders`, `group:analysts sales_read`."""
    review_rows = ReviewRow.objects.filter(review=review).select_related("holder", "group", "desk")
    return {said(row): row for row in review_rows.order_by("number")}


def said(row: ReviewRow) -> str:
    who = str(row.holder).removeprefix("user:") if row.holder else f"role:{row.role_name}"
    if row.kind == ReviewRow.Kind.ROLE:
        return f"{who} {row.role_name}"
    if row.group:
        return f"{who} in {row.group.name}"
    return f"{who} {row.what}"


def decides(reviewer: str, row: ReviewRow, choice: str, **more: Any) -> Outcome:
    row.refresh_from_db()
    seconds = more.pop("seconds", None)
    verdict = Verdict(row.pk, row.version, choice, **{"reason": "no longer needed", **more})
    return decisions.decide(row.review, [verdict], by=acts(reviewer), seconds=seconds)
