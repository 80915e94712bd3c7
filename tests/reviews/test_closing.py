"""The end of a review: what was decided is carried out, proved, and nothing else is touched."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from catalog.nodes import Node
from policies.decisions import ask
from policies.models import Change, Event, Grant, Review
from policies.record.history import Names
from policies.reviews import completion, management
from policies.services import grants, objects, roles
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, acting, admit, owned, the
from tests.kept import kept
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows


def make_given(shop: Node) -> Node:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    admit(shop, "tom")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    both = ("SELECT_TABLE", "MODIFY_TABLE")
    catalog = ("USE_CATALOG",)
    grants.add(GrantRequest(the("catalog", "shop"), (person("tom"),), catalog), by=acting("marek"))
    grants.add(GrantRequest(orders, (person("tom"),), both), by=acting("olivia"))
    return shop


given = kept(make_given, on="shop")


def can(name: str, action: str, table: str = "shop.sales.orders") -> bool:
    return bool(ask.ask(person(name), action, the("table", table)))


def finish(review: Review, by: str = "olivia") -> Review:
    management.end(review, by=acts(by))
    completion.work(review)
    review.refresh_from_db()
    return review


def test_a_removal_ends_the_access_and_is_proved(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    assert can("ana", "read")  # nothing happens before the end
    finish(review)
    assert not can("ana", "read")
    assert can("tom", "write")
    row = rows(review)["ana shop.sales.orders"]
    assert (review.state, row.state) == ("closed", "proved")
    change = Change.objects.get(revision=row.carried_revision)
    assert change.actor == person("olivia").pseudonym
    assert row.proof["backend"] == "the console"


def test_a_reduction_takes_only_what_was_named(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["tom shop.sales.orders"], "reduce", takes=("MODIFY_TABLE",))
    finish(review)
    assert can("tom", "read")
    assert not can("tom", "write")


def test_an_end_is_given_to_what_had_none(given: Node) -> None:
    review, until = a_review(), timezone.now() + timedelta(days=5)
    decides("olivia", rows(review)["ana shop.sales.orders"], "end", until=until)
    finish(review)
    assert can("ana", "read")
    later = ask.ask(
        person("ana"), "read", the("table", "shop.sales.orders"), now=until + timedelta(seconds=1)
    )
    assert not later
    assert rows(review)["ana shop.sales.orders"].state == "proved"


def test_who_holds_a_role_no_longer_does(given: Node) -> None:
    review = a_review(the("metalake"), by="marek")
    decides("olivia", rows(review)["group:analysts sales_read"], "remove")  # who owns sales is asked
    assert can("mia", "read")
    finish(review, by="marek")
    assert not can("mia", "read")


def test_a_role_says_less(given: Node) -> None:
    review = a_review()
    taken = ("SELECT_TABLE",)
    decides("olivia", rows(review)["role:sales_read shop.sales"], "reduce", takes=taken)
    finish(review)
    assert not can("mia", "read")
    assert ask.ask(person("mia"), "use", the("schema", "shop.sales"))


@pytest.mark.parametrize(("silence", "keeps"), [("keep", True), ("remove", False), ("escalate", True)])
def test_silence_means_what_was_stated(given: Node, silence: str, keeps: bool) -> None:
    review = a_review(silence=silence)
    finish(review)
    assert can("ana", "read") is keeps
    assert all(row.default for row in rows(review).values())
    # a denial never goes by silence
    assert Grant.objects.open().filter(effect="deny").exists()


def test_what_was_given_again_meanwhile_is_another_decision(given: Node) -> None:
    review, orders = a_review(), the("table", "shop.sales.orders")
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    grants.remove(orders, [person("ana")], ["SELECT_TABLE"], by=acting("olivia"))
    grants.add(GrantRequest(orders, (person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    finish(review)
    row = rows(review)["ana shop.sales.orders"]
    assert (row.state, row.outcome) == ("gone", "Somebody else ended it before.")
    assert can("ana", "read")


def test_a_starter_who_may_no_longer_grant_removes_nothing(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    management.end(review, by=acts("olivia"))
    owned(the("schema", "shop.sales"), "ana")
    completion.work(review)
    row = rows(review)["ana shop.sales.orders"]
    assert row.state == "failed"
    assert "You may not" in row.outcome
    assert can("ana", "read")
    assert [item.row.number for item in completion.listed(review) if item.row.state == "failed"] == [
        row.number
    ]


def test_an_object_that_is_gone_takes_its_rows_along(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    objects.drop(the("table", "shop.sales.orders"), by=BY, authority=AUTHORITY)
    finish(review)
    assert rows(review)["ana shop.sales.orders"].state == "gone"


def test_every_move_is_on_record(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    finish(review)
    kinds = Event.objects.filter(kind__startswith="review.").order_by("change", "number")
    assert list(kinds.values_list("kind", flat=True)) == [
        "review.started",
        "review.opened",
        "review.decided",
        "review.ended",
        "review.carried",
        "review.all_carried",
        "review.proved",
        "review.closed",
    ]


def test_another_role_of_the_same_holder_is_not_touched(given: Node) -> None:
    roles.assign(the("role", "browse"), person("mia"), by=BY, authority=AUTHORITY)
    review = a_review(the("metalake"), by="marek")
    decides("marek", rows(review)["mia browse"], "remove")
    finish(review, by="marek")
    assert can("mia", "read")


def test_the_history_tells_it_in_sentences(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)["ana shop.sales.orders"], "remove")
    finish(review)
    events = list(Event.objects.filter(kind__startswith="review.").select_related("change"))
    names = Names([event.change for event in events], events)
    texts = {event.kind: names.line(event).text for event in events}
    number = rows(review)["ana shop.sales.orders"].number
    assert texts["review.decided"] == f"decided row {number} of review {review.pk}: remove"
    assert texts["review.proved"].startswith(
        f"confirmed 1 row of review {review.pk} in the console at revision"
    )
