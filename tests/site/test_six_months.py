"""The demo's past: really done, in the order of time, so that the record holds and today is as before."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Principal, User
from accounts.people import ensure
from authzsite.demo import clock, happened, shop, six_months, staff, world
from policies.decisions import ask
from policies.models import (
    AccessRequest,
    BackendFinding,
    Change,
    Emergency,
    ForeignOrder,
    Hint,
    Review,
    SeparationRule,
    Use,
)
from policies.record import verify
from tests.factories import the

STATES = ["approved", "approved_less", "asked", "asked_back", "lapsed", "refused", "withdrawn"]


def test_time_goes_on_from_the_moment_and_comes_back() -> None:
    real, moment = timezone.now, timezone.now() - timedelta(days=100)
    with clock.at(moment):
        first, second = timezone.now(), timezone.now()
    assert moment <= first <= second < moment + timedelta(minutes=1)
    assert timezone.now is real


def test_the_steps_stand_in_the_order_of_time() -> None:
    days = [ago for ago, _ in happened.STEPS]
    assert days == sorted(days, reverse=True)
    assert max(days) < six_months.DAYS


def test_colleagues_are_many_and_nobody_twice() -> None:
    names = [item.name for item in staff.COLLEAGUES]
    assert len({*names, *world.PEOPLE}) == len(names) + len(world.PEOPLE) >= 60
    assert all(item.left < item.came < six_months.DAYS for item in staff.COLLEAGUES)


def can(name: str, type_: str, text: str) -> bool:
    return bool(ask.ask(ensure("user", name), "read", the(type_, text)))


@pytest.mark.slow
def test_a_new_demo_has_lived_for_six_months(db: None, settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path
    try:
        call_command("demo", stdout=io.StringIO())
        before = Change.objects.count()
        call_command("demo", stdout=io.StringIO())
        assert Change.objects.count() == before
    finally:
        shop.server(tmp_path).stop()
    moments = list(Change.objects.order_by("revision").values_list("at", flat=True))
    assert moments == sorted(moments)
    assert moments[-1] - moments[0] > timedelta(days=180)
    assert len({moment.date() for moment in moments}) > 40
    assert verify.verify()
    _has_everything()
    _leaves_today_as_it_was()


def _has_everything() -> None:
    assert sorted(AccessRequest.objects.values_list("state", flat=True)) == STATES
    reviews = dict(Review.objects.values_list("title", "state"))
    assert reviews == {"Autumn review of sales": "closed", world.REVIEW: "building"}
    assert list(Emergency.objects.values_list("person__name", "state")) == [("viktor", "closed")]
    assert SeparationRule.objects.open().count() == 1
    orders = ForeignOrder.objects.filter(done__isnull=False, holder="dora")
    assert sorted(orders.values_list("replaced", flat=True)) == [False, True]
    assert BackendFinding.objects.filter(kind__in=("missing", "extra")).count() == 0
    greta = User.objects.get(principal=ensure("user", "greta"))
    assert not greta.is_active
    assert Principal.objects.filter(kind="user").count() >= 60
    days = {at.date() for at in Use.objects.values_list("at", flat=True)}
    assert len(days) >= happened.USED_DAYS
    assert Hint.objects.filter(kind="unused_grant").exists()


def _leaves_today_as_it_was() -> None:
    orders = ("table", "shop.sales.orders")
    assert [name for name in world.PEOPLE if can(name, *orders)] == [
        *("marek", "olivia", "ada", "mia", "tomas", "noah")
    ]
    assert not can("dora", "table", "shop.sales.customers")
