"""A worker is killed while it writes the population down or carries removals out; the next one goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from catalog.nodes import Node
from policies.models import Change, Event, Grant, Review, ReviewRow
from policies.record.verify import verify
from policies.reviews import completion, management, population, removals
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import acting, admit, the
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows


class Killed(BaseException):
    """What nothing in the worker catches."""


@pytest.fixture
def many(shop: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Six people read orders directly; batches are small."""
    can_sign_in("marek", "olivia")
    monkeypatch.setattr(population, "BATCH", 2)
    names = [f"p{number}" for number in range(6)]
    admit(shop, *names)
    holders = tuple(person(name) for name in names)
    grants.add(
        GrantRequest(the("table", "shop.sales.orders"), holders, ("SELECT_TABLE",)), by=acting("olivia")
    )
    return shop


def later(review: Review) -> None:
    """The lease of a dead worker has run out."""
    Review.objects.filter(pk=review.pk).update(
        leased=timezone.now() - population.LEASE - timedelta(seconds=1)
    )
    review.refresh_from_db()


def test_a_population_is_the_same_however_often_its_writer_was_killed(many: Node) -> None:
    whole = a_review()
    killed = a_review(built=False)

    def kill_after(rows_: int) -> None:
        raise Killed

    for _ in range(3):
        with pytest.raises(Killed):
            population.build(killed, told=kill_after)
        killed.refresh_from_db()
        assert killed.state == "building"
        assert not population.build(killed)  # its lease still holds
        later(killed)
    assert population.waiting() == [killed]
    assert population.build(killed)
    killed.refresh_from_db()
    assert killed.state == "open"
    assert [row.key for row in rows(killed).values()] == [row.key for row in rows(whole).values()]
    assert killed.digest == whole.digest


def test_a_writer_that_was_taken_for_dead_writes_nothing_more(many: Node) -> None:
    review = a_review(built=False)

    def overtaken(many_: int) -> None:
        Review.objects.filter(pk=review.pk).update(lease="another")

    assert not population.build(review, told=overtaken)
    assert ReviewRow.objects.filter(review=review).count() == 2


def test_a_review_that_is_called_off_meanwhile_is_written_no_further(many: Node) -> None:
    review = a_review(built=False)

    def call_off(many_: int) -> None:
        management.cancel(Review.objects.get(pk=review.pk), by=acts("olivia"))

    assert not population.build(review, told=call_off)
    assert Review.objects.get().state == "cancelled"
    assert ReviewRow.objects.filter(review=review).count() == 2


def test_removals_are_carried_out_once_however_often_the_worker_was_killed(
    many: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = a_review()
    wanted = {f"p{number} shop.sales.orders" for number in range(6)}
    for name, row in rows(review).items():
        if name in wanted:
            decides("olivia", row, "remove")
    management.end(review, by=acts("olivia"))
    real, done = removals._note, []

    def note(*what: object) -> None:
        real(*what)  # type: ignore[arg-type]
        done.append(1)
        if len(done) % 2:
            raise Killed  # after all was written, before it was committed

    monkeypatch.setattr(removals, "_note", note)
    for _ in range(20):
        try:
            assert completion.work(review)
            break
        except Killed:
            later(review)
    review.refresh_from_db()
    assert review.state == "closed"
    assert {name for name, row in rows(review).items() if row.state == "proved"} == wanted
    carried = Event.objects.filter(kind="review.carried").values_list("data__row", flat=True)
    assert len(carried) == len(set(carried)) == 6
    assert not Grant.objects.open().filter(securable=the("table", "shop.sales.orders").id).exists()
    assert verify()
    assert Change.objects.count() == Change.objects.order_by("-revision")[0].revision
