"""What is written into the tables of a review past the console ends nobody's access, and is told."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from catalog.nodes import Node
from catalog.queries import root
from policies.errors import Conflict, Refused
from policies.events import REVIEW_PASSED
from policies.models import Grant, ReviewDesk, ReviewRow, ReviewSeat
from policies.models.review_seals import is_row_sealed
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.verify import verify
from policies.reviews import completion, decisions, delegation, management, schedule
from policies.reviews.campaign_plans import Stage
from policies.reviews.reviewers import Seating, desk_for
from tests.factories import AUTHORITY, BY
from tests.policies.superuser import former, past_triggers
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows

DENIAL = "role:no_contractors shop.sales"
GIVEN = "role:sales_read shop.sales"
ORDERED = "UPDATE policies_reviewrow SET choice = 'remove', state = 'decided', decided_by_id = {by} "
FORGED = {
    "a decision": (ORDERED + "WHERE effect = 'deny'", False),
    "a decision of nobody's": (
        "UPDATE policies_reviewrow SET choice = 'remove', state = 'waiting', \"default\" = true"
        " WHERE effect = 'deny'",
        False,
    ),
    "what silence means": (
        "UPDATE policies_review SET silence = 'remove';"
        "UPDATE policies_reviewrow SET effect = 'allow' WHERE effect = 'deny'",
        False,
    ),
    "another right in a decided row": (
        "UPDATE policies_reviewrow r SET facts = d.facts, privileges = d.privileges, role_id = d.role_id,"
        " securable_id = d.securable_id, effect = d.effect, kind = d.kind, holder_id = d.holder_id"
        " FROM policies_reviewrow d WHERE d.effect = 'deny' AND r.choice = 'remove'",
        True,
    ),
    "who started it": (
        ORDERED + "WHERE effect = 'deny';UPDATE policies_review SET starter_id = {marek}",
        False,
    ),
    "a row of another": (
        "UPDATE policies_reviewrow r SET choice = o.choice, state = o.state, decided_by_id = o.decided_by_id,"
        " seal = o.seal FROM policies_reviewrow o WHERE o.choice = 'remove' AND r.effect = 'deny'",
        True,
    ),
}


@pytest.mark.parametrize("deed", FORGED)
def test_a_decision_that_nobody_made_lifts_no_denial(shop: Node, deed: str) -> None:
    can_sign_in("olivia", "marek", "carl")
    statement, decided = FORGED[deed]
    review = a_review()
    if decided:
        decides("olivia", rows(review)[GIVEN], "remove")
    people = {"by": person("olivia").pk, "marek": person("marek").pk}
    for part in statement.split(";"):
        past_triggers(part.format(**people))
    assert any("another row, or none" in line for line in verify().differing)
    management.end(review, by=acts("olivia"))
    completion.work(review)
    assert Grant.objects.open().filter(effect="deny").exists()
    assert ReviewRow.objects.filter(state="failed", outcome__contains="not written by this console").exists()


def test_what_is_not_ours_is_not_made_ours_by_deciding(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    past_triggers("UPDATE policies_reviewrow SET facts = '{grant:1}' WHERE effect = 'deny'")
    with pytest.raises(Refused, match="not written by this console"):
        decides("olivia", rows(review)[DENIAL], "remove")
    assert Grant.objects.open().filter(effect="deny").exists()


SEATS = {
    "a seat": "INSERT INTO policies_reviewseat (desk_id, reviewer_id, ground)"
    " SELECT desk_id, {eve}, 'owner' FROM policies_reviewrow WHERE effect = 'deny'",
    "a seat with another's seal": "INSERT INTO policies_reviewseat (desk_id, reviewer_id, ground, seal)"
    " SELECT desk_id, {eve}, 'owner', seal FROM policies_reviewseat LIMIT 1",
    "who sits there": "UPDATE policies_reviewseat SET reviewer_id = {eve} WHERE reviewer_id = {olivia}",
    "a row on their desk": "UPDATE policies_reviewrow SET desk_id ="
    " (SELECT desk_id FROM policies_reviewseat WHERE reviewer_id = {marek}) WHERE effect = 'deny'",
}


@pytest.mark.parametrize("deed", SEATS)
def test_who_took_a_seat_past_the_console_decides_nothing(shop: Node, deed: str) -> None:
    can_sign_in("olivia", "marek", "carl", "eve")
    review = a_review()
    by_key = rows(review)
    delegation.pass_on(review, person("marek"), by=acts("olivia"), rows=[by_key[GIVEN].pk])
    people = {name: person(name).pk for name in ("olivia", "marek", "eve")}
    past_triggers(SEATS[deed].format(**people))
    for who in ("eve", "marek"):
        with pytest.raises(Refused, match="do not review"):
            decides(who, rows(review)[DENIAL], "remove")
    with pytest.raises(Refused, match="do not review"):  # marek leads the review, and may
        delegation.pass_on(review, person("olivia"), by=acts("eve"), rows=[by_key[DENIAL].pk])
    assert not verify()


FORGED_PLANS = {
    "the people of the next stage": "UPDATE policies_review SET stages = jsonb_set(stages, '{{0}}',"
    """ '{{"by": "people", "people": [{eve}], "until": "2099-01-01T00:00:00Z"}}')""",
    "a desk under another rule": "UPDATE policies_reviewdesk SET key = 'people:{eve}', stage = 1",
}


@pytest.mark.parametrize("deed", FORGED_PLANS)
def test_a_plan_that_was_written_past_the_console_asks_nobody(shop: Node, deed: str) -> None:
    can_sign_in("olivia", "marek", "carl", "eve")
    review = a_review()
    past_triggers(FORGED_PLANS[deed].format(eve=person("eve").pk))
    review.refresh_from_db()
    with pytest.raises(Conflict, match="outside the console"):
        seating = Seating(review, root(review.realm), 0)
        desk = ReviewDesk.objects.get()
        desk_for(review, desk.stage, desk.key)
        seating.seat(list(rows(review).values()))
    assert not verify()


def test_reviews_as_they_were_made_are_whole(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    decides("olivia", rows(review)[GIVEN], "remove")
    delegation.pass_on(review, person("marek"), by=acts("olivia"))
    decides("marek", rows(review)[DENIAL], "keep")
    verdict = verify()
    assert verdict, verdict.differing


def test_who_passed_rows_on_decides_them_no_more_though_their_old_places_are_put_back(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    put_back = former(ReviewRow, effect="deny")
    delegation.pass_on(review, person("marek"), by=acts("olivia"))
    assert verify()
    put_back()
    with pytest.raises(Refused, match="do not review"):
        decides("olivia", rows(review)[DENIAL], "remove")
    assert any("an earlier state" in line for line in verify().differing)


def test_who_left_a_seat_is_not_asked_though_it_is_put_back(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl", "eve")
    review = a_review()
    delegation.pass_on(review, person("eve"), by=acts("olivia"))
    put_back = former(ReviewSeat, reviewer=person("eve"))
    with change(REVIEW_PASSED, realm=review.realm, by=BY) as current:
        ReviewSeat.objects.filter(reviewer=person("eve")).update(left=timezone.now())
        current.say(make_event(REVIEW_PASSED, root(review.realm), review=review.pk, rows=0), by=AUTHORITY)
    put_back()
    for deed in (
        lambda: decides("eve", rows(review)[DENIAL], "remove"),
        lambda: delegation.pass_on(review, person("marek"), by=acts("eve")),
    ):
        with pytest.raises(Refused, match="do not review"):
            deed()
    assert any("reviewseat" in line for line in verify().differing)


@pytest.mark.parametrize("again", [False, True], ids=["put back", "put back and gone on"])
def test_a_decision_that_was_taken_back_ends_nothing_though_it_is_put_back(shop: Node, again: bool) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    decides("olivia", rows(review)[DENIAL], "remove")
    put_back = former(ReviewRow, effect="deny")
    row = rows(review)[DENIAL]
    if again:
        decides("olivia", row, "unsure")
    decisions.take_back(review, row.pk, row.version + again, by=acts("olivia"))
    assert verify()
    put_back()
    assert is_row_sealed(rows(review)[DENIAL])
    assert any("reviewrow" in line for line in verify().differing)
    if again:
        with pytest.raises(Refused):
            decides("olivia", rows(review)[DENIAL], "keep")
    management.end(review, by=acts("olivia"))
    completion.work(review)
    assert Grant.objects.open().filter(effect="deny").exists()
    assert rows(review)[DENIAL].state == "failed"


def test_the_places_of_a_stage_before_are_over(shop: Node) -> None:
    can_sign_in("olivia", "marek", "eve")
    review = a_review(stages=(Stage("owner", days=1), Stage("people", (person("eve"),), days=9)))
    put_back = former(ReviewRow, effect="deny")
    schedule.look_after(review, datetime.fromisoformat(review.stages[0]["until"]) + timedelta(minutes=1))
    decides("eve", rows(review)[DENIAL], "keep")
    assert verify()
    put_back()
    with pytest.raises(Refused, match="do not review"):
        decides("olivia", rows(review)[DENIAL], "remove")
