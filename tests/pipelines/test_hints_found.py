"""From facts and told uses to hints, from run to run: what is mended goes, what is dismissed stays so."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import User
from authzsite.demo import world
from catalog.nodes import Node
from policies.analytics import hints
from policies.analytics.pipelines import control, running
from policies.authority import OPERATOR
from policies.models import Grant, PipelineRun
from tests.factories import a_use, acting, the
from tests.pipelines.test_hints import all_of
from tests.policies.conftest import shop
from tests.requests.test_demo import a_demo

__all__ = ["shop"]
ORDERS = ("table", "shop.sales.orders")


def found(root: Node, kind: str) -> list[tuple[str, str]]:
    """Run it, and tell object and role or person of each hint of a kind."""
    PipelineRun.objects.filter(state="done").update(ended=timezone.now() - timedelta(days=1))
    row = control.ask("unused_grants", root, by=OPERATOR)
    running.run(row)
    assert (row.state, row.trouble) == ("done", "")
    hints_ = all_of(root, OPERATOR, kind=kind)
    return sorted(
        (item.node.name, item.role.name if item.role else item.holder.name if item.holder else "")
        for item in hints_
    )


def test_a_grant_that_nobody_uses_is_found_and_vanishes_when_it_is_taken_back(shop: Node) -> None:
    assert found(shop, "unused_grant") == []  # nobody told of any use, so nothing is known
    a_use("marek", the(*ORDERS), days=40, by="etl")
    assert found(shop, "unused_grant") == [
        ("sales", "sales_read"),
        ("sales", "sales_read"),
        ("shop", "browse"),
    ]
    olivia = acting("olivia")
    about = hints.about_object(the("schema", "shop.sales"), olivia)
    for item in (item for item in about if item.row.kind == "unused_grant"):
        assert item.ground.startswith("Not used in ")
        hints.mend(item.row.pk, by=olivia)
    assert found(shop, "unused_grant") == [("shop", "browse")]
    assert not Grant.objects.open().filter(role__placements__name="sales_read").exists()


def test_used_again_it_is_no_hint(shop: Node) -> None:
    a_use("marek", the(*ORDERS), days=40, by="etl")
    assert ("sales", "sales_read") in found(shop, "unused_grant")
    a_use("mia", the(*ORDERS), days=1, by="etl")
    assert found(shop, "unused_grant") == []


def test_the_demo_has_something_to_take_back(db: None) -> None:
    place = a_demo()
    for _ in range(2):  # the command can be given again
        world.report_uses(place)
    assert ("sales", "sales_write") in found(place, "unused_grant")
    on_sales = hints.about_object(the("schema", "shop.sales"), acting("olivia"))
    [hint] = [sale for sale in on_sales if sale.row.privilege == "MODIFY_TABLE"]
    assert hint.ground == (
        "Not used in 40 days; it gives Write to 2 people. "
        "Usage data covers 2 of 3 objects here; granted today."
    )


def test_what_was_dismissed_does_not_come_back(shop: Node) -> None:
    a_use("marek", the(*ORDERS), days=40, by="etl")
    found(shop, "unused_grant")
    [hint] = [item for item in all_of(shop, OPERATOR, kind="unused_grant") if item.node.name == "shop"]
    hints.dismiss(hint.row.pk, by=acting("marek"), reason="Everybody starts here")
    assert found(shop, "unused_grant") == [("sales", "sales_read"), ("sales", "sales_read")]
    [kept] = all_of(shop, OPERATOR, dismissed=True)
    assert (kept.row.reason, kept.row.found < kept.row.seen) == ("Everybody starts here", True)


def test_a_denial_that_denies_nothing(shop: Node) -> None:
    assert found(shop, "idle_deny") == []  # Carl is an analyst, so the denial takes effect
    from policies.services import members
    from tests.factories import AUTHORITY, BY

    analysts, carl = people.ensure("group", "analysts"), people.ensure("user", "carl")
    members.leave_group(analysts, carl, by=BY, authority=AUTHORITY)
    assert found(shop, "idle_deny") == [("sales", "no_contractors")]


def been_here(name: str, at: datetime | None) -> None:
    User.objects.create(username=name, principal=people.ensure("user", name), last_login=at)


@pytest.mark.parametrize(
    ("case", "days_here", "signed_in", "asleep"),
    [
        ("a new account", 3, None, False),
        ("signed in long ago", 200, 150, True),
        ("signed in last week", 200, 7, False),
        ("never signed in", 200, None, True),
    ],
)
def test_people_who_sleep(
    shop: Node,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
    days_here: int,
    signed_in: int | None,
    *,
    asleep: bool,
) -> None:
    later = timezone.now() + timedelta(days=days_here)
    monkeypatch.setattr(timezone, "now", lambda: later)
    been_here("olivia", later - timedelta(days=signed_in) if signed_in else None)
    assert (("demo", "olivia") in found(shop, "dormant_person")) == asleep, case


def test_a_disabled_account_that_holds_something(shop: Node) -> None:
    been_here("olivia", timezone.now())
    User.objects.filter(username="olivia").update(is_active=False)
    assert ("demo", "olivia") in found(shop, "dormant_person")
    assert ("sales", "") in found(shop, "ownerless")
    [hint] = hints.about_person(people.ensure("user", "olivia"), shop, OPERATOR)
    assert hint.row.people == 1
    assert hint.ground == "Can no longer sign in, and still holds 1 object of its own in this realm."
