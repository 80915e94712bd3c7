"""What time brings: reminders to those who owe something, stages, the end, the next of a series."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.models import User
from catalog.nodes import Node
from policies.models import Event, Notice, Review, ReviewSeat
from policies.reviews import management, population, reminders, schedule
from policies.reviews.campaign_plans import Stage
from policies.services import duties, grants
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, acting, owned, the
from tests.kept import kept
from tests.reviews.world import a_review, can_sign_in, decides, person, rows


def make_given(shop: Node) -> Node:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    for name in ("ana", "mia"):
        wish = GrantRequest(the("table", "shop.sales.orders"), (person(name),), ("SELECT_TABLE",))
        grants.add(wish, by=acting("olivia"))
    return shop


given = kept(make_given, on="shop")


def told(kind: str) -> list[str]:
    notices = Notice.objects.filter(kind=kind).order_by("pk").select_related("recipient")
    return [item.recipient.name for item in notices]


def test_those_who_owe_something_are_reminded_three_times_and_once_each(given: Node) -> None:
    review = a_review()
    begin = review.opened or timezone.now()
    days = [1, 7.1, 7.2, 11.1, 13.1, 13.5]
    reminded = []
    for day in days:
        review.refresh_from_db()
        schedule.look_after(review, begin + timedelta(days=day))
        reminded.append(len(told("review.remind")))
    assert reminded == [0, 1, 1, 2, 3, 3]
    assert set(told("review.remind")) == {"olivia"}


def test_who_owes_nothing_is_not_reminded(given: Node) -> None:
    review = a_review(reasons="never")
    for row in rows(review).values():
        decides("olivia", row, "keep")
    schedule.look_after(review, timezone.now() + timedelta(days=12))
    assert told("review.remind") == []
    assert not Notice.objects.filter(kind="review.asked", done__isnull=True).exists()


def test_what_was_put_to_somebody_whose_account_was_closed_is_put_to_others(given: Node) -> None:
    review = a_review(by="marek")
    assert set(told("review.asked")) == {"olivia"}
    before = rows(review)["ana shop.sales.orders"]
    decides("olivia", rows(review)["mia shop.sales.orders"], "keep")
    User.objects.filter(principal=person("olivia")).update(is_active=False)
    schedule.look_after(review, timezone.now() + timedelta(hours=1))
    schedule.look_after(review, timezone.now() + timedelta(hours=2))
    assert told("review.asked") == ["olivia", "marek"]
    after = rows(review)
    assert after["mia shop.sales.orders"].choice == "keep"
    assert after["ana shop.sales.orders"].version == before.version + 1
    assert Event.objects.filter(kind="review.reseated").count() == 1
    assert decides("marek", after["ana shop.sales.orders"], "keep").decided


def test_where_nobody_at_all_can_sign_in_it_stays_and_nothing_breaks(given: Node) -> None:
    review = a_review(by="marek")
    User.objects.update(is_active=False)
    for hours in (1, 2):
        schedule.look_after(review, timezone.now() + timedelta(hours=hours))
    assert rows(review)["ana shop.sales.orders"].state == "open"


def test_a_reminder_by_hand_is_settled_with_the_review(given: Node) -> None:
    review = a_review()
    assert reminders.remind(review, by=acting("olivia")) == 1
    management.end(review, by=acting("olivia"))
    assert not Notice.objects.filter(kind="review.remind", done__isnull=True).exists()


def test_what_is_left_goes_to_the_next_stage(given: Node) -> None:
    duties.give(the("schema", "shop.sales"), "review_access", person("carl"), by=BY, authority=AUTHORITY)
    review = a_review(stages=(Stage("owner", days=5), Stage("duty", days=5)))
    by_key = rows(review)
    decides("olivia", by_key["ana shop.sales.orders"], "keep")
    decides("olivia", by_key["mia shop.sales.orders"], "unsure")
    schedule.look_after(review, timezone.now() + timedelta(days=5, hours=1))
    review.refresh_from_db()
    after = rows(review)
    assert review.stage == 1
    assert after["ana shop.sales.orders"].choice == "keep"
    assert after["mia shop.sales.orders"].state == "open"
    carl = ReviewSeat.objects.filter(reviewer=person("carl"))
    asked = {name for name, row in after.items() if row.desk_id in set(carl.values_list("desk", flat=True))}
    # what Carl's own roles say is not Carl's to decide
    assert asked == {"mia shop.sales.orders", "ana shop.sales"}
    assert "carl" in told("review.asked")


def test_what_nobody_decides_goes_to_the_starter_where_that_was_stated(given: Node) -> None:
    named = (Stage("people", (person("carl"),), days=5),)
    review = a_review(stages=named, silence="escalate")
    schedule.look_after(review, timezone.now() + timedelta(days=6))
    review.refresh_from_db()
    assert (review.state, review.stage) == ("open", 1)
    assert decides("olivia", rows(review)["ana shop.sales.orders"], "remove").decided
    schedule.look_after(review, timezone.now() + timedelta(days=30))
    review.refresh_from_db()
    assert review.state == "closing"


def test_the_end_comes_by_itself(given: Node) -> None:
    review = a_review()
    schedule.tick(timezone.now() + timedelta(days=15))
    review.refresh_from_db()
    assert review.state == "closing"


def test_a_review_comes_again(given: Node) -> None:
    review = a_review(every=3)
    schedule.tick(timezone.now() + timedelta(days=80))
    assert Review.objects.count() == 1
    schedule.tick(timezone.now() + timedelta(days=95))
    schedule.tick(timezone.now() + timedelta(days=96))
    again = Review.objects.exclude(pk=review.pk).get()
    assert (again.series, again.every, again.title) == (review, 3, review.title)
    population.build(again)
    again.refresh_from_db()
    assert again.counts["rows"] == review.counts["rows"]


def test_it_does_not_for_a_starter_who_may_no_longer_grant(given: Node) -> None:
    review = a_review(every=3)
    owned(the("schema", "shop.sales"), "ana")
    schedule.tick(timezone.now() + timedelta(days=95))
    review.refresh_from_db()
    assert (Review.objects.count(), review.every) == (1, None)
    assert told("review.repeat") == ["olivia"]


def test_the_next_stage_leaves_second_looks_where_they_are(given: Node) -> None:
    two = (Stage("owner", days=5), Stage("people", (person("carl"),), days=5))
    review = a_review(stages=two, pace=9, sample=100, fallback=person("marek"))
    row = rows(review)["ana shop.sales.orders"]
    decides("olivia", row, "keep", seconds=1.0)
    schedule.look_after(review, timezone.now() + timedelta(days=5, hours=1))
    row.refresh_from_db()
    assert (row.state, row.choice) == ("again", "keep")
    assert decides("marek", row, "remove").decided
