"""From a question to working access, after exactly the decisions that the law requires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.record import Origin
from catalog.nodes import Node
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import AccessRequest, Change, Event, Grant, Notice, RequestStep
from policies.record.history import Names, privilege_label
from policies.requests import submission
from tests.factories import the
from tests.requests.world import approve, ask, by, can, refuse, told, who


def said_by(kind: str) -> str:
    """The last event of a kind as the history tells it."""
    event = Event.objects.filter(kind=kind).select_related("change").latest("pk")
    return Names([event.change], [event]).line(event).text


def test_one_question_files_every_prerequisite_with_its_own_owner(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", lasts="P30D")
    assert told(request) == [
        "Use catalog on catalog demo/shop: asked",
        "Use schema on schema demo/shop.sales: asked",
        "Read on table demo/shop.sales.orders: asked",
    ]
    notices = Notice.objects.filter(kind="request.to_decide").values_list("recipient__name", "link")
    assert sorted(notices) == [
        (name, f"/requests/{request.pk}") for name in ("carla", "dora", "olivia", "theo")
    ]


def test_access_works_after_exactly_the_decisions_that_the_law_requires(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", lasts="P30D")
    for decider, part in (("carla", 0), ("olivia", 1)):
        assert approve(request, decider, parts=[part]).state == "asked"
        assert not Grant.objects.filter(origin=Origin.REQUEST).exists()
        assert not can("ana")
    assert approve(request, "theo").state == "approved"
    assert can("ana")
    given = Grant.objects.filter(origin=Origin.REQUEST)
    assert {row.privilege for row in given} == {"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"}
    [want] = request.wants.all()
    assert {row.valid_until for row in given} == {want.valid_until}
    assert want.valid_until - want.valid_from == timedelta(days=30)


def test_the_clock_starts_when_it_is_given_and_not_when_it_is_asked(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", lasts="PT8H")
    AccessRequest.objects.update(asked_at=datetime(2020, 1, 1, tzinfo=UTC))
    for decider in ("carla", "olivia", "theo"):
        approve(request, decider)
    [want] = request.wants.all()
    ends = want.valid_until
    assert ends - want.given_at == timedelta(hours=8)
    assert can("ana", now=ends - timedelta(microseconds=1))
    assert not can("ana", now=ends)


def test_who_stands_higher_may_decide_for_all_below(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    assert approve(request, "marek").state == "approved"
    assert can("ana")


def test_a_duty_decides_what_lies_below_it_and_nothing_above(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "dora", parts=[1, 2])
    assert [text.split(": ")[1] for text in told(request)] == ["asked", "approved", "approved"]
    assert approve(request, "carla").state == "approved"
    assert can("ana")
    assert not can("dora")


def test_a_refusal_ends_what_cannot_work_without_it_and_says_why(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "carla")
    assert refuse(request, "theo", "ask for customers instead").state == "refused"
    assert [text.split(": ")[1] for text in told(request)] == ["needless", "needless", "refused"]
    assert not Grant.objects.filter(origin=Origin.REQUEST).exists()
    answer = Notice.objects.get(kind="request.answers")
    assert (answer.recipient.name, answer.text.split(":")[0]) == ("ana", "Your request was refused")


def test_of_two_objects_one_can_be_given_and_the_other_refused(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", "read shop.sales.customers")
    approve(request, "carla")
    approve(request, "olivia")
    assert can("ana", table="shop.sales.customers")
    assert refuse(request, "theo").state == "approved_less"
    assert not can("ana")
    assert can("ana", table="shop.sales.customers")


def test_less_and_shorter_can_be_given_but_neither_more_nor_longer(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", "write shop.sales.orders", lasts="P30D")
    approve(request, "carla")
    approve(request, "olivia", parts=[1])
    [table] = request.parts.filter(type="table")
    for bad in ({"give": {table.number: ["CREATE_TABLE"]}}, {"give": {table.number: []}}, {"lasts": "P31D"}):
        with pytest.raises(Invalid):
            approve(request, "theo", **bad)
    done = approve(request, "theo", give={table.number: ["SELECT_TABLE"]}, lasts="P7D")
    assert done.state == "approved_less"
    of_it = f"approved part of request {request.pk} for ana: only Read for 7 days; requested:"
    asked = ", ".join(map(privilege_label, table.privileges))
    assert said_by("request.approved_less") == f"{of_it} {asked} on table demo/shop.sales.orders"
    assert can("ana") and not can("ana", "write")
    want = request.wants.get(action="read")
    assert want.valid_until - want.valid_from == timedelta(days=7)
    assert request.wants.get(action="write").given_at is None


def test_a_decider_asks_back_and_is_answered(shop: Node) -> None:
    from policies.requests import decisions

    request = ask("ana", "read shop.sales.orders")
    assert decisions.ask_back(request.pk, "Which report?", by=by("theo")).state == "asked_back"
    assert Notice.objects.get(kind="request.questions").recipient.name == "ana"
    with pytest.raises(NotFound):
        submission.answer(request.pk, "mine", by=by("ben"))
    assert submission.answer(request.pk, "The one of March", by=by("ana")).state == "asked"
    assert [(step.move, step.text) for step in request.steps.order_by("pk")][1:] == [
        ("asked_back", "Which report?"),
        ("answered", "The one of March"),
    ]


def test_people_take_their_own_request_back_and_nobody_elses(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "carla")
    with pytest.raises(NotFound):
        submission.withdraw(request.pk, by=by("theo"))
    assert submission.withdraw(request.pk, by=by("ana")).state == "withdrawn"
    assert {text.split(": ")[1] for text in told(request)} == {"withdrawn"}
    with pytest.raises(Conflict, match="withdrawn"):
        approve(request, "theo")


def test_the_same_key_asks_once(shop: Node) -> None:
    first = ask("ana", "read shop.sales.orders", key="job 7")
    assert ask("ana", "read shop.sales.orders", key="job 7") == first
    with pytest.raises(Conflict, match="key"):
        ask("ana", "read shop.sales.customers", key="job 7")
    with pytest.raises(Conflict, match=f"request {first.pk}"):
        ask("ana", "read shop.sales.orders")
    assert ask("ben", "read shop.sales.orders", key="job 7") != first


@pytest.mark.parametrize(
    ("asker", "wants", "more", "said"),
    [
        ("ana", ["read shop.sales.orders"], {"reason": "."}, "Give a reason"),
        ("ana", ["read shop.sales.orders"], {"reason": "aaaaaaaaaaaaaaa"}, "Give a reason"),
        ("ana", ["read shop.sales.orders"], {"lasts": "forever"}, "not a length of time"),
        ("ana", ["read shop.sales.orders"], {"lasts": "P0D"}, "not a length of time"),
        ("ana", ["read shop.sales.orders"], {"lasts": "P9999D"}, "ten years"),
        ("ana", ["read shop.sales.orders"], {"zone": "Mars/Olympus"}, "not a time zone"),
        ("ana", ["read shop.sales.orders"], {"until": datetime(2020, 1, 1, tzinfo=UTC)}, "future"),
        ("ana", ["fly shop.sales.orders"], {}, "action fly does not exist"),
        ("ana", ["drop shop.sales.orders"], {}, "owners alone"),
        ("ana", [], {}, "at least one item"),
        ("theo", ["read shop.sales.orders"], {}, "may do this already"),
        ("ana", ["read shop.sales.orders"], {"reason": "of \0 use to us"}, "stored"),
    ],
)
def test_what_makes_no_sense_is_told_and_leaves_no_trace(shop: Node, asker, wants, more, said) -> None:
    before = Change.objects.count()
    with pytest.raises(Invalid, match=said):
        ask(asker, *wants, **more)
    assert Change.objects.count() == before
    assert not AccessRequest.objects.exists()


def test_people_ask_for_themselves_their_groups_and_their_services_only(shop: Node) -> None:
    assert [str(holder) for holder in submission.holders(who("ben"))] == ["user:ben", "group:analysts"]
    with pytest.raises(Refused, match="yourself"):
        ask("ana", "read shop.sales.orders", holder="user:ben")
    with pytest.raises(Refused, match="yourself"):
        ask("ana", "read shop.sales.orders", holder="group:analysts")
    assert ask("ben", "read shop.sales.orders", holder="group:analysts").holder.name == "analysts"


def test_history_says_all_of_it_by_the_number_of_the_request(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "marek", note="as agreed")
    moves = list(RequestStep.objects.filter(request=request).order_by("pk").values_list("move", flat=True))
    assert moves == ["asked", "approved", "approved", "approved", "given"]
    last = request.steps.latest("pk")
    kinds = set(Event.objects.filter(change=last.revision).values_list("kind", flat=True))
    assert {"request.approved", "request.given", "grant.added"} <= kinds
    assert {e.data["request"] for e in Event.objects.filter(kind__startswith="request.")} == {request.pk}


def test_membership_comes_first_where_it_is_lacking(shop: Node) -> None:
    from accounts import people

    people.make_account("zoe")
    request = ask("zoe", "read shop.sales.orders")
    assert told(request)[0] == "membership of demo: asked"
    assert approve(request, "marek", parts=[0, 1, 2, 3]).state == "approved"
    assert can("zoe")


def test_a_role_can_be_asked_for_and_is_given_by_who_may_give_it(shop: Node) -> None:
    from policies.models import Assignment

    request = ask("ana", "hold role browse", lasts="P7D")
    assert told(request) == ["role demo/browse: asked"]
    with pytest.raises(NotFound):
        approve(request, "carla")
    assert approve(request, "gil").state == "approved"
    [held] = Assignment.objects.open().filter(holder=who("ana"))
    assert (held.role_id, held.origin) == (the("role", "browse").id, "request")
    assert held.valid_until is not None


def test_history_is_asked_by_the_number_of_a_request(shop: Node) -> None:
    from policies.record.history import Filter

    request, other = ask("ana", "read shop.sales.orders"), ask("ben", "read shop.stock.items")
    approve(request, "marek", parts=[0, 1, 2])
    revisions = set(Filter(request=str(request.pk)).changes().values_list("kind", flat=True))
    assert revisions == {"request.asked", "request.approved"}
    assert Filter(request=str(other.pk)).changes().count() == 1
    assert not Filter(request="9" * 30).changes().exists()


def test_a_renamed_object_is_still_the_one_that_was_asked_for(shop: Node) -> None:
    from policies.services import objects
    from tests.factories import AUTHORITY, BY

    request = ask("ana", "read shop.sales.orders")
    objects.rename(the("table", "shop.sales.orders"), "old_orders", by=BY, authority=AUTHORITY)
    approve(request, "marek", parts=[0, 1, 2])
    assert can("ana", table="shop.sales.old_orders")


def test_another_object_of_the_same_name_is_not_given_in_its_stead(shop: Node) -> None:
    from policies.services import objects
    from tests.factories import AUTHORITY, BY, under

    request = ask("ana", "read shop.sales.orders")
    objects.drop(the("table", "shop.sales.orders"), by=BY, authority=AUTHORITY)
    under(the("schema", "shop.sales"), "table", "orders")
    with pytest.raises(Invalid, match="There is no table"):
        approve(request, "marek", parts=[0, 1, 2])
    assert refuse(request, "marek").state == "refused"


def test_a_role_does_not_give_what_an_owner_refused_or_cut_down(shop: Node) -> None:
    from tests.factories import a_role

    way = ["allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales"]
    both = [f"allow SELECT_TABLE on table shop.sales.{name}" for name in ("orders", "customers")]
    role = a_role(shop, "both", *way, *both)
    request = ask("ana", "read shop.sales.orders", "read shop.sales.customers")
    refuse(request, "theo")
    with pytest.raises(Invalid, match="refused or reduced"):
        approve(request, "gil", role=role.id)


@pytest.mark.parametrize("more", [{"starts": timedelta(days=400)}, {"until": timedelta(days=9999)}])
def test_nothing_is_asked_for_too_far_ahead(shop: Node, more: dict) -> None:
    from django.utils import timezone

    with pytest.raises(Invalid, match="Access can be requested"):
        ask("ana", "read shop.sales.orders", **{name: timezone.now() + ahead for name, ahead in more.items()})
