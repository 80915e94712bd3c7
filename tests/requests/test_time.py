"""Both sides of every boundary: how long, when it lapses, when the next level is asked, when it begins."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from catalog.nodes import Node
from policies.errors import Conflict, Invalid
from policies.models import AccessRequest, Grant, Notice, RequestPart, RequestWant
from policies.requests import durations, escalation, rules, visibility
from policies.requests.rules import Rules
from tests.factories import owned, the
from tests.requests.world import approve, ask, begins_now, by, can, who

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
TICK = timedelta(microseconds=1)

# 2026: in Berlin the clocks go forward on 29 March at 2:00 and back on 25 October at 3:00
ENDS = [
    ("an hour is an hour", "PT1H", (2026, 3, 29, 1, 30), BERLIN, "2026-03-29T01:30+00:00"),
    ("a day ends at the same time of day", "P1D", (2026, 3, 28, 12, 0), BERLIN, "2026-03-29T10:00+00:00"),
    (
        "24 hours end an hour later by the clock",
        "PT24H",
        (2026, 3, 28, 12, 0),
        BERLIN,
        "2026-03-29T11:00+00:00",
    ),
    (
        "a leapt over time becomes the one after",
        "P1D",
        (2026, 3, 28, 2, 30),
        BERLIN,
        "2026-03-29T01:30+00:00",
    ),
    ("back again: 25 hours in a day", "P1D", (2026, 10, 24, 12, 0), BERLIN, "2026-10-25T11:00+00:00"),
    ("the twofold hour is the first one", "P1D", (2026, 10, 24, 2, 30), BERLIN, "2026-10-25T00:30+00:00"),
    ("days, then hours", "P1DT12H", (2026, 3, 28, 12, 0), BERLIN, "2026-03-29T22:00+00:00"),
    ("two weeks", "P2W", (2026, 3, 20, 9, 0), BERLIN, "2026-04-03T07:00+00:00"),
    (
        "elsewhere the clocks go on another day",
        "P1D",
        (2026, 3, 28, 12, 0),
        NEW_YORK,
        "2026-03-29T16:00+00:00",
    ),
    ("where there is no such thing", "P1D", (2026, 3, 28, 12, 0), ZoneInfo("UTC"), "2026-03-29T12:00+00:00"),
]


@pytest.mark.parametrize(("why", "lasts", "start", "zone", "end"), ENDS, ids=[item[0] for item in ENDS])
def test_how_long_means_what_people_mean(why: str, lasts: str, start, zone, end: str) -> None:
    begun = datetime(*start, tzinfo=zone)
    assert durations.ends(begun, lasts, None, zone.key) == datetime.fromisoformat(end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "P0D",
        "PT0M",
        "7D",
        "P1Y",
        "P-1D",
        "P1.5D",
        "p1d",
        " P1D",
        "P1D ",
        "P3661D",
        "PT99999999H",
        "P１D",
    ],
)
def test_what_is_no_length_of_time_is_told(text: str) -> None:
    with pytest.raises(Invalid):
        durations.lasting(text)


def test_access_holds_until_before_its_end_across_the_change_of_clocks(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", lasts="P180D", zone="Europe/Berlin")
    approve(request, "marek", parts=[0, 1, 2])
    [want] = request.wants.all()
    local = [moment.astimezone(BERLIN) for moment in (want.valid_from, want.valid_until)]
    assert local[1].timetz().replace(tzinfo=None) == local[0].timetz().replace(tzinfo=None)
    assert (local[1].date() - local[0].date()).days == 180
    assert can("ana", now=want.valid_until - TICK)
    assert not can("ana", now=want.valid_until)


@pytest.mark.parametrize(("late", "state"), [(-TICK, "asked"), (timedelta(0), "lapsed"), (TICK, "lapsed")])
def test_a_request_lapses_at_its_moment_and_not_before(shop: Node, late: timedelta, state: str) -> None:
    request = ask("ana", "read shop.sales.orders")
    assert request.lapses_at - request.asked_at == timedelta(days=14)
    escalation.tick(request.lapses_at + late)
    assert AccessRequest.objects.get().state == state
    notices = Notice.objects.filter(kind="request.answers", recipient__name="ana").count()
    assert notices == (1 if state == "lapsed" else 0)
    escalation.tick(request.lapses_at + late)
    assert request.steps.filter(move="lapsed").count() == notices


def test_nobody_decides_what_has_lapsed_though_no_sweeper_came(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    AccessRequest.objects.update(lapses_at=timezone.now())
    with pytest.raises(Conflict, match="lapsed"):
        approve(request, "theo")
    assert not visibility.waiting_for(who("theo")).exists()
    assert not visibility.get(request.pk, who("theo")).may_decide


def test_what_was_given_stays_when_the_rest_lapses(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", "read shop.sales.customers")
    approve(request, "carla")
    approve(request, "olivia")
    escalation.tick(request.lapses_at)
    assert AccessRequest.objects.get().state == "approved_less"
    assert request.parts.get(name__endswith="orders").state == "lapsed"
    assert can("ana", table="shop.sales.customers") and not can("ana")


def test_the_next_level_is_asked_after_a_while_and_not_before(shop: Node) -> None:
    rules.set_rule(shop, by=by("marek"), escalate_hours=24)
    request = ask("ana", "read shop.sales.orders")
    table = request.parts.get(type="table")
    after = request.asked_at + timedelta(hours=24)
    assert table.escalates_at == after
    for moment, people in ((after - TICK, ["theo"]), (after, ["dora", "olivia", "theo"])):
        escalation.tick(moment)
        table.refresh_from_db()
        assert called(table) == people
    escalation.tick(table.escalates_at)
    table.refresh_from_db()
    assert called(table) == ["carla", "dora", "olivia", "theo"]
    notices = Notice.objects.filter(kind="request.to_decide", key__contains=f"escalated:{table.number}")
    assert {item.recipient.name for item in notices} == {"carla", "dora", "olivia", "theo"}


def called(part: RequestPart) -> list[str]:
    from policies.requests.notifications import deciders_of

    return sorted(item.name for item in deciders_of(part.request, [part]))


def test_when_who_was_asked_can_no_longer_sign_in_the_next_level_is_asked(shop: Node) -> None:
    from accounts.models import User

    request = ask("ana", "read shop.sales.orders")
    User.objects.filter(username="theo").update(is_active=False)
    table = request.parts.get(type="table")
    escalation.tick(table.escalates_at)
    table.refresh_from_db()
    assert called(table) == ["dora", "olivia"]


def test_access_that_begins_later_is_given_then_and_not_before(shop: Node) -> None:
    start = timezone.now() + timedelta(days=3)
    request = ask("ana", "read shop.sales.orders", starts=start, lasts="P7D")
    assert approve(request, "marek", parts=[0, 1, 2]).state == "approved"
    assert not Grant.objects.filter(origin="request").exists()
    escalation.tick(start - TICK)
    assert not can("ana")
    assert RequestWant.objects.get().due == start
    begins_now()
    escalation.tick(timezone.now())
    want = RequestWant.objects.get()
    assert can("ana")
    assert want.valid_until - want.given_at == timedelta(days=7)


@pytest.mark.parametrize("lost", ["the right", "the account", "the object"])
def test_what_is_to_begin_is_asked_of_its_rights_again(shop: Node, lost: str) -> None:
    from accounts.models import User
    from policies.services import objects
    from tests.factories import AUTHORITY, BY

    request = ask("ana", "read shop.sales.orders", starts=timezone.now() + timedelta(days=3))
    approve(request, "carla", parts=[0])
    approve(request, "olivia", parts=[1])
    assert approve(request, "theo").state == "approved"
    if lost == "the right":
        owned(the("table", "shop.sales.orders"), "mia")
    elif lost == "the account":
        User.objects.filter(username="theo").update(is_active=False)
    else:
        objects.drop(the("table", "shop.sales.orders"), by=BY, authority=AUTHORITY)
    begins_now()
    escalation.tick(timezone.now())
    assert not Grant.objects.open().filter(origin="request").exists()
    assert AccessRequest.objects.get().state == "asked"
    assert Notice.objects.filter(recipient__name="ana", text__startswith="Your request waits").exists()
    assert escalation.tick(timezone.now()) == 0


SAYING = [
    ("too short", Rules(min_reason=20), "short one", "", "at least 20"),
    ("long enough", Rules(min_reason=20), "long enough for twenty", "", None),
    ("spaces do not count", Rules(min_reason=20), "a   b        c             d", "", "at least 20"),
    ("no ticket", Rules(ticket="DATA-#"), "a good reason", "", "DATA-#"),
    ("another ticket", Rules(ticket="DATA-#"), "a good reason", "DATA-12x", "DATA-#"),
    ("a ticket", Rules(ticket="DATA-#"), "a good reason", "DATA-12", None),
    ("letters", Rules(ticket="@-#"), "a good reason", "OPS-7", None),
    ("digits of others", Rules(ticket="#"), "a good reason", "１２", "#"),
    ("a ticket too many", Rules(), "a good reason", "x" * 65, "64"),
]


@pytest.mark.parametrize(
    ("why", "said", "reason", "ticket", "problem"), SAYING, ids=[item[0] for item in SAYING]
)
def test_what_a_request_must_say(why, said: Rules, reason, ticket, problem) -> None:
    if problem is None:
        said.check(reason, ticket)
        return
    with pytest.raises(Invalid, match=problem):
        said.check(reason, ticket)


def test_a_hostile_form_of_a_ticket_takes_no_time() -> None:
    import time

    begun = time.process_time()
    assert not rules.form("#0" * 32).fullmatch("0" * 63 + "x")
    assert time.process_time() - begun < 5


def test_the_nearest_word_counts_and_only_who_may_grant_says_it(shop: Node) -> None:
    from policies.errors import Refused

    sales, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    assert rules.set_rule(shop, by=by("marek"), min_reason=30, ticket="DATA-#", lapse_hours=48)
    assert rules.set_rule(sales, by=by("olivia"), ticket="", longest_days=90)
    assert not rules.set_rule(sales, by=by("olivia"), ticket="", longest_days=90)
    rules_ = rules.rules_along([*orders.above(), orders])
    assert (rules_.min_reason, rules_.ticket, rules_.lapse_hours, rules_.longest_days) == (30, "", 48, 90)
    with pytest.raises(Refused):
        rules.set_rule(sales, by=by("ana"), min_reason=1)
    for bad in (
        {"min_reason": -1},
        {"lapse_hours": 0},
        {"longest_days": 99999},
        {"ticket": "\n"},
        {"ticket": "x" * 99},
    ):
        with pytest.raises(Invalid):
            rules.set_rule(sales, by=by("olivia"), **bad)
    assert rules.set_rule(sales, by=by("olivia"))
    assert rules.own(sales) is None


@pytest.mark.parametrize(("lasts", "fits"), [("P90D", True), ("PT2160H", True), ("P91D", False), ("", False)])
def test_access_is_asked_for_no_longer_than_it_is_given(shop: Node, lasts: str, fits: bool) -> None:
    from tests.factories import a_role

    a_role(
        shop,
        "see",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        held_by=("ana",),
    )
    rules.set_rule(the("schema", "shop.sales"), by=by("olivia"), longest_days=90)
    if fits:
        assert ask("ana", "read shop.sales.orders", lasts=lasts).state == "asked"
    else:
        with pytest.raises(Invalid, match="90 days at most"):
            ask("ana", "read shop.sales.orders", lasts=lasts)


def test_a_renewal_is_asked_for_while_the_access_still_holds(shop: Node) -> None:
    first = ask("ana", "read shop.sales.orders", lasts="P7D")
    approve(first, "marek", parts=[0, 1, 2])
    again = ask("ana", "read shop.sales.orders", lasts="P30D")
    approve(again, "marek", parts=[0, 1, 2])
    end = again.wants.get().valid_until
    assert can("ana", now=end - TICK) and not can("ana", now=end)
    with pytest.raises(Invalid, match="already"):
        ask("ana", "read shop.sales.orders", lasts="P7D")
