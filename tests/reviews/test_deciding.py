"""Deciding: who may, what can be meant, who was first, and what rubber stamps come to."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from catalog.nodes import Node
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import Review, ReviewDecision, ReviewRow, ReviewSeat
from policies.reviews import completion, decisions, delegation, management, pace_checks, worklist
from policies.reviews.campaign_plans import Stage
from policies.reviews.decisions import Verdict
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows

ORDERS = "shop.sales.orders"


def give(*names: str, privileges: tuple[str, ...] = ("SELECT_TABLE",)) -> None:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    for name in names:
        grants.add(GrantRequest(the("table", ORDERS), (person(name),), privileges), by=acting("olivia"))


def make_given(shop: Node) -> Node:
    give("ana", "mia")
    return shop


given = kept(make_given, on="shop")


def by_people(*names: str) -> dict[str, Any]:
    return {"stages": (Stage("people", tuple(person(name) for name in names)),)}


def test_a_decision_can_be_changed_until_the_end(given: Node) -> None:
    review = a_review()
    row = rows(review)[f"ana {ORDERS}"]
    decides("olivia", row, "remove")
    decides("olivia", row, "keep")
    row.refresh_from_db()
    assert (row.choice, row.version) == ("keep", 2)
    decisions.take_back(review, row.pk, 2, by=acts("olivia"))
    row.refresh_from_db()
    assert (row.state, row.choice) == ("open", "")
    assert [decision.choice for decision in worklist.row_decisions(row)] == ["", "keep", "remove"]
    management.end(review, by=acts("olivia"))
    with pytest.raises(Conflict, match="being carried out"):
        decides("olivia", row, "keep")


def test_who_comes_second_hears_who_was_first(given: Node) -> None:
    review = a_review(**by_people("carl", "olivia"))
    row = rows(review)[f"ana {ORDERS}"]
    verdict = Verdict(row.pk, row.version, "remove", reason="left")
    assert decisions.decide(review, [verdict], by=acts("carl")).decided == (row.pk,)
    late = decisions.decide(review, [Verdict(row.pk, row.version, "keep")], by=acts("olivia"))
    assert late.decided == ()
    assert late.refused == ((row.pk, f"carl decided row {row.number} meanwhile: remove."),)
    row.refresh_from_db()
    assert (row.choice, row.decided_by) == ("remove", person("carl"))


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_is_first() -> None:
    make_shop()
    give("ana", "mia")
    review = a_review(**by_people("carl", "olivia"))
    row, won = rows(review)[f"ana {ORDERS}"], []
    barrier = threading.Barrier(2)

    def decide(name: str, choice: str) -> None:
        verdict = Verdict(row.pk, 0, choice, reason="so")
        barrier.wait()
        if decisions.decide(review, [verdict], by=acts(name)).decided:
            won.append(choice)
        connections.close_all()

    threads = [
        threading.Thread(target=decide, args=item) for item in (("carl", "remove"), ("olivia", "keep"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row.refresh_from_db()
    assert [row.choice] == won
    assert ReviewDecision.objects.filter(row=row).count() == 1


def test_nobody_decides_their_own_access(given: Node) -> None:
    review = a_review(**by_people("ana", "carl"))
    by_key = rows(review)
    seats = ReviewSeat.objects.filter(desk=by_key[f"ana {ORDERS}"].desk)
    assert [seat.reviewer.name for seat in seats] == ["carl"]
    with pytest.raises(Refused, match="do not review"):
        decides("ana", by_key[f"ana {ORDERS}"], "keep")
    mine = worklist.rows_of(review, person("ana"))
    assert all(row.holder != person("ana") for row in mine)


def test_a_group_that_one_joins_later_is_ones_own(given: Node) -> None:
    review = a_review(the("metalake"), by="marek", **by_people("olivia"))
    row = rows(review)["group:analysts sales_read"]
    a_person("olivia", "analysts")
    with pytest.raises(Refused, match="your own access"):
        decides("olivia", row, "keep")
    assert row.pk not in {item.pk for item in worklist.page(review, person("olivia")).rows}


def test_who_is_not_asked_decides_nothing(given: Node) -> None:
    review = a_review()
    with pytest.raises(Refused):
        decides("marek", rows(review)[f"ana {ORDERS}"], "keep")
    with pytest.raises(NotFound):
        decisions.decide(review, [Verdict(10**9, 0, "keep")], by=acts("olivia"))


MEANT: list[tuple[str, str, dict[str, Any], str]] = [
    (f"ana {ORDERS}", "reduce", {"takes": ("SELECT_TABLE",)}, "cannot be decided this way"),
    (f"mia {ORDERS}", "reduce", {"takes": ()}, "Choose the rights"),
    (f"mia {ORDERS}", "reduce", {"takes": ("SELECT_TABLE", "MODIFY_TABLE")}, "not all"),
    (f"ana {ORDERS}", "end", {}, "still to come"),
    (f"ana {ORDERS}", "end", {"until": timezone.now() - timedelta(days=1)}, "still to come"),
    (f"ana {ORDERS}", "remove", {"reason": " . "}, "Give a reason"),
    (f"ana {ORDERS}", "burn", {}, "cannot be decided this way"),
    (f"ana {ORDERS}", "remove", {"reason": "x" * 3000}, "at most"),
    ("role:no_contractors shop.sales", "end", {"until": timezone.now() + timedelta(days=1)}, "cannot be"),
]


def test_what_cannot_be_meant(shop: Node) -> None:
    give("ana")
    give("mia", privileges=("SELECT_TABLE", "MODIFY_TABLE"))
    by_key = rows(a_review())
    for name, choice, more, why in MEANT:
        with pytest.raises(Invalid, match=why):
            decides("olivia", by_key[name], choice, **more)
    assert not ReviewRow.objects.exclude(choice="").exists()


@pytest.mark.parametrize(
    ("reasons", "choice", "needed"),
    [
        ("never", "remove", False),
        ("changes", "remove", True),
        ("changes", "keep", False),
        ("far", "keep", True),
        ("always", "unsure", True),
    ],
)
def test_reasons_where_the_review_wants_them(given: Node, reasons: str, choice: str, needed: bool) -> None:
    review = a_review(reasons=reasons)
    row = rows(review)[f"ana {ORDERS}"]
    assert decisions.needs_reason(review, row, choice) is needed


# rubber stamps


def test_what_reaches_far_is_kept_one_at_a_time(given: Node) -> None:
    review = a_review(reasons="never")
    both = [rows(review)[name] for name in (f"ana {ORDERS}", f"mia {ORDERS}")]
    assert all(row.far for row in both)  # Carl is denied there, they are exceptions
    with pytest.raises(Invalid, match="one at a time"):
        decisions.decide(review, [Verdict(row.pk, 0, "keep") for row in both], by=acts("olivia"))
    done = decisions.decide(review, [Verdict(row.pk, 0, "remove") for row in both], by=acts("olivia"))
    assert len(done.decided) == 2


def test_only_so_many_at_once(given: Node) -> None:
    review = a_review(reasons="never", bulk=1)
    both = [Verdict(rows(review)[name].pk, 0, "remove") for name in (f"ana {ORDERS}", f"mia {ORDERS}")]
    with pytest.raises(Invalid, match="At most 1"):
        decisions.decide(review, both, by=acts("olivia"))


def test_the_starter_sees_how_fast_somebody_decides(given: Node) -> None:
    review = a_review(pace=5, sample=0)
    by_key = rows(review)
    decides("olivia", by_key[f"ana {ORDERS}"], "keep", seconds=1.0)
    decides("olivia", by_key[f"mia {ORDERS}"], "remove", seconds=30.0)
    [pace] = pace_checks.paces(review)
    assert (pace.decided, pace.quick, pace.kept, pace.kept_far, pace.seconds) == (2, 1, 1, 1, 15.5)


def test_quick_decisions_are_looked_at_again_by_another_person(given: Node) -> None:
    review = a_review(pace=5, sample=100, fallback=person("marek"))
    row = rows(review)[f"ana {ORDERS}"]
    decides("olivia", row, "keep", seconds=1.0)
    row.refresh_from_db()
    assert (row.state, row.choice) == ("again", "keep")
    with pytest.raises(Refused):
        decides("olivia", row, "keep")
    decides("marek", row, "remove")
    row.refresh_from_db()
    assert (row.state, row.choice, row.seen_twice) == ("decided", "remove", True)


def test_what_nobody_looked_at_again_is_listed(given: Node) -> None:
    review = a_review(pace=5, sample=100, fallback=person("marek"))
    row = rows(review)[f"ana {ORDERS}"]
    decides("olivia", row, "keep", seconds=1.0)
    management.end(review, by=acts("olivia"))
    completion.work(review)
    assert {item.row.pk: item.why for item in completion.listed(review)}[
        row.pk
    ] == "Nobody looked at it again."


def test_the_lot_is_drawn_from_the_sealed_population(given: Node) -> None:
    review = a_review(sample=50)
    review_rows = list(rows(review).values())
    assert [pace_checks.drawn(review, row) for row in review_rows] == [
        pace_checks.drawn(review, row) for row in review_rows
    ]
    review.sample = 0
    assert not any(pace_checks.drawn(review, row) for row in review_rows)
    review.sample = 100
    assert all(pace_checks.drawn(review, row) for row in review_rows)


# passing on


def test_rows_are_passed_on_but_never_ones_own(given: Node) -> None:
    review = a_review()
    many = len(rows(review))
    passed = delegation.pass_on(review, person("ana"), by=acts("olivia"))
    assert passed == sum(row.holder != person("ana") for row in rows(review).values()) < many
    with pytest.raises(Refused):
        decides("olivia", rows(review)[f"mia {ORDERS}"], "remove")
    assert decides("ana", rows(review)[f"mia {ORDERS}"], "remove").decided


def test_who_is_not_asked_passes_nothing_on(given: Node) -> None:
    review = a_review()
    keys = [row.pk for row in rows(review).values()]
    with pytest.raises(Refused):
        delegation.pass_on(review, person("mia"), by=acts("carl"), rows=keys)
    with pytest.raises(Invalid, match="cannot sign in"):
        delegation.pass_on(review, person("tom"), by=acts("olivia"), rows=keys)


def test_who_leads_passes_on_anything(given: Node) -> None:
    review = a_review(**by_people("carl"))
    row = rows(review)[f"ana {ORDERS}"]
    assert delegation.pass_on(review, person("mia"), by=acts("marek"), rows=[row.pk]) == 1
    assert decides("mia", row, "remove").decided


def test_a_review_is_called_off_and_nothing_happens(given: Node) -> None:
    review = a_review()
    decides("olivia", rows(review)[f"ana {ORDERS}"], "remove")
    management.cancel(review, by=acts("olivia"))
    assert not completion.work(review)
    assert Review.objects.get().state == "cancelled"
    with pytest.raises(Conflict, match="cancelled"):
        management.end(review, by=acts("olivia"))


def test_a_review_is_given_more_time(given: Node) -> None:
    review = a_review()
    due = review.due
    management.extend(review, 3, by=acts("olivia"))
    assert review.due - due == timedelta(days=3)
    with pytest.raises(Refused):
        management.extend(review, 3, by=acts("carl"))
