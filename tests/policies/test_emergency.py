"""Breaking the glass: by duty alone, for oneself alone, for hours, seen by all, and reviewed by another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal, User
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions import ask
from policies.emergency import access as emergency_access
from policies.emergency import traces
from policies.emergency.access import EmergencyRequest
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import Emergency, Event, Grant, Notice, Use
from policies.models.emergencies import EMERGENCY
from policies.models.notices import LETTER
from policies.models.states import States
from policies.separation import Separated
from policies.separation.sides import Side
from policies.services import accounts, duties, grants, members, roles, separation
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, an_account, the
from tests.kept import kept
from tests.policies.superuser import past_triggers

pytestmark = pytest.mark.django_db

WHY = "The nightly load stopped"


def make_ana(shop: Node) -> Principal:
    """Has the duty on catalog shop, and no right on sales."""
    for name in ("ana", "olivia", "marek", "mia"):
        an_account(name, display_name=f"{name.title()} Lake")
    person = people.ensure("user", "ana")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, person, by=BY, authority=AUTHORITY)
    return person


ana = kept(make_ana, on="shop")


def orders() -> Node:
    return the("table", "shop.sales.orders")


def open_it(by: Actor | None = None, **more: Any) -> Emergency:
    asked = {"node": orders(), "action": "read", "hours": 2, "reason": WHY, **more}
    return emergency_access.open_for_oneself(EmergencyRequest(**asked), by=by or acting("ana"))


def can(person: Principal, action: str, after: timedelta = timedelta()) -> bool:
    return bool(ask.ask(person, action, orders(), now=timezone.now() + after))


def test_it_works_at_once_and_ends_by_itself(ana: Principal) -> None:
    assert not can(ana, "read")
    row = open_it()
    assert can(ana, "read")
    assert not can(ana, "write")
    assert can(ana, "read", timedelta(hours=2) - timedelta(seconds=5))
    assert not ask.ask(ana, "read", orders(), now=row.until)
    assert ask.ask(ana, "read", orders(), now=row.until - timedelta(microseconds=1))
    assert set(Grant.objects.filter(opened=row.revision).values_list("origin", flat=True)) == {"emergency"}


def test_to_write_is_asked_for_by_itself(ana: Principal) -> None:
    open_it(action="write")
    assert can(ana, "read")
    assert can(ana, "write")
    assert not can(ana, "grant")


@pytest.mark.parametrize("name", ["shop", "shop.sales"])
def test_a_container_opens_what_is_in_it(ana: Principal, name: str) -> None:
    open_it(node=the("schema" if "." in name else "catalog", name), action="write")
    assert can(ana, "read")
    assert can(ana, "write")


def test_it_is_told_to_the_owners_at_once(ana: Principal) -> None:
    row = open_it()
    notices = Notice.objects.filter(key=f"emergency:{row.pk}")
    assert set(notices.values_list("recipient__name", flat=True)) == {"olivia", "marek"}
    assert {item.sentence for item in notices} == {
        f"Ana Lake opened shop.sales.orders in an emergency, to read: {WHY}"
    }
    assert set(notices.values_list("urgent", "how")) == {(True, "mail")}
    assert Event.objects.filter(kind="emergency.opened").count() == 1


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "without the duty": (lambda: open_it(acting("mia")), Refused),
    "for somebody else": (
        lambda: open_it(
            Actor(people.ensure("user", "mia"), "api", on_behalf_of=people.ensure("user", "ana"))
        ),
        Refused,
    ),
    "by nobody": (lambda: open_it(BY), Refused),
    "without a reason": (lambda: open_it(reason="  because   "), Invalid),
    "for a day": (lambda: open_it(hours=24), Invalid),
    "for no time": (lambda: open_it(hours=0), Invalid),
    "to grant access": (lambda: open_it(action="grant"), Invalid),
    "beside what the duty is on": (lambda: open_it(node=the("metalake")), Refused),
    "on a role": (lambda: open_it(node=the("role", "sales_read")), Refused),
}


@pytest.mark.parametrize(("deed", "error"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_changes_nothing(
    ana: Principal, deed: Callable[[], Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        deed()
    assert not Emergency.objects.exists()
    assert not can(ana, "read")


def test_who_is_no_member_gets_nothing(ana: Principal) -> None:
    zoe = an_account("zoe").principal
    assert zoe is not None
    duties.give(the("catalog", "shop"), emergency_access.DUTY, zoe, by=BY, authority=AUTHORITY)
    with pytest.raises(Invalid, match="not a member"):
        open_it(acting(zoe))


def test_a_denial_is_said_and_stays(ana: Principal) -> None:
    an_account("carl")
    carl = a_person("carl")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, carl, by=BY, authority=AUTHORITY)
    with pytest.raises(Refused, match="SELECT_TABLE is denied to you by role no_contractors"):
        open_it(acting(carl))
    assert not can(carl, "read")


def test_once_at_a_time_and_the_same_key_is_the_same(ana: Principal) -> None:
    row = open_it(key="k1")
    assert open_it(key="k1") == row
    with pytest.raises(Conflict, match="still open"):
        open_it(key="k2")


@pytest.mark.parametrize("way", ["ended", "timed out"])
def test_what_waits_for_its_review_is_not_opened_again(ana: Principal, way: str) -> None:
    row = open_it(node=the("schema", "shop.sales"), key="k1")
    if way == "ended":
        emergency_access.end(row.pk, by=acting("ana"))
    Emergency.objects.update(until=timezone.now() - timedelta(seconds=1))
    for node in (the("schema", "shop.sales"), orders()):
        with pytest.raises(
            Conflict, match=r"on shop\.sales waits for its review. Olivia Lake or Marek Lake can"
        ):
            open_it(node=node)
    assert open_it(node=the("schema", "shop.sales"), key="k1") == row
    open_it(node=the("table", "shop.stock.items"))
    emergency_access.close(row.pk, "All was in order", by=acting("olivia"))
    assert open_it().state == "open"


def test_nor_is_it_opened_by_opening_all_around_it(ana: Principal) -> None:
    row = open_it()
    emergency_access.end(row.pk, by=acting("ana"))
    for node in (the("schema", "shop.sales"), the("catalog", "shop")):
        with pytest.raises(Conflict, match=r"earlier emergency on shop\.sales\.orders waits"):
            open_it(node=node)
    emergency_access.close(row.pk, "All was in order", by=acting("olivia"))
    assert open_it(node=the("schema", "shop.sales")).state == "open"


def test_a_duty_through_a_group_counts(ana: Principal) -> None:
    staff = people.ensure("group", "staff")
    duties.give(the("schema", "shop.sales"), emergency_access.DUTY, staff, by=BY, authority=AUTHORITY)
    open_it(acting("mia"), action="write")
    with pytest.raises(Refused):
        open_it(acting("mia"), node=the("table", "shop.stock.items"))


# Its end and its review


@pytest.mark.parametrize("who", ["ana", "olivia"])
def test_it_is_ended_sooner(ana: Principal, who: str) -> None:
    row = emergency_access.end(open_it().pk, by=acting(who))
    assert row.state == "ended"
    assert not can(ana, "read")
    with pytest.raises(Conflict, match="waiting for its review"):
        emergency_access.end(row.pk, by=acting(who))


def test_others_neither_see_nor_end_nor_close_it(ana: Principal) -> None:
    row = open_it()
    for number in (row.pk, 10**9):
        for deed in (
            emergency_access.end,
            lambda pk, by: emergency_access.close(pk, "All was in order", by=by),
        ):
            with pytest.raises(NotFound, match="no such emergency"):
                deed(number, by=acting("mia"))


def test_a_grant_that_was_there_before_stays(ana: Principal) -> None:
    wish = grants.GrantRequest(orders(), (ana,), ("SELECT_TABLE",))
    grants.add(wish, by=acting("marek"))
    emergency_access.end(open_it().pk, by=acting("ana"))
    assert can(ana, "read")


def test_the_review_stays_open_until_somebody_else_closes_it(ana: Principal) -> None:
    row = open_it()
    with pytest.raises(Conflict, match="is now open"):
        emergency_access.close(row.pk, "All was in order", by=acting("olivia"))
    Emergency.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert emergency_access.finish_all(timezone.now()) == 1
    assert emergency_access.finish_all(timezone.now()) == 0
    assert set(Notice.objects.filter(key=f"emergency-review:{row.pk}").values_list("done", flat=True)) == {
        None
    }
    with pytest.raises(Refused, match="nobody reviews their own"):
        emergency_access.close(row.pk, "All was in order", by=acting("ana"))
    with pytest.raises(Invalid, match="Describe what you found"):
        emergency_access.close(row.pk, "ok", by=acting("olivia"))
    closed = emergency_access.close(row.pk, "All was in order", by=acting("olivia"))
    assert (closed.state, closed.verdict) == ("closed", "All was in order")
    assert not Notice.objects.filter(key=f"emergency-review:{row.pk}", done=None).exists()
    with pytest.raises(Conflict, match="reviewed and closed"):
        emergency_access.close(row.pk, "I looked as well", by=acting("marek"))


def test_a_review_closed_past_the_console_waits_again(ana: Principal) -> None:
    row = open_it()
    emergency_access.finish_all(timezone.now() + timedelta(hours=5))
    marek = people.ensure("user", "marek")
    past_triggers(
        "UPDATE policies_emergency SET state = 'closed', verdict = 'all was well', reviewed = now(),"
        f" reviewer_id = {marek.pk} WHERE id = {row.pk}"
    )
    assert emergency_access.reopen_reviews() == 1
    row.refresh_from_db()
    assert (row.state, row.reviewer, row.verdict) == ("ended", None, "")
    emergency_access.close(row.pk, "Looked at the queries", by=Actor(marek, "console"))
    assert emergency_access.reopen_reviews() == 0


def test_an_owner_with_the_duty_is_reviewed_by_another(ana: Principal) -> None:
    olivia = people.ensure("user", "olivia")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, olivia, by=BY, authority=AUTHORITY)
    row = open_it(acting(olivia))
    emergency_access.end(row.pk, by=acting(olivia))
    with pytest.raises(Refused):
        emergency_access.close(row.pk, "I was very careful", by=acting(olivia))
    emergency_access.close(row.pk, "Olivia was very careful", by=acting("marek"))


def test_no_program_closes_a_review_whoever_keeps_it(ana: Principal, shop: Node) -> None:
    robot = people.ensure("service", "robot")
    accounts.set_keeper(robot, ana, by=BY, authority=AUTHORITY)
    members.add(shop, robot, by=BY, authority=AUTHORITY)
    rules = ("MANAGE_GRANTS on metalake", "USE_CATALOG on metalake", "USE_SCHEMA on metalake")
    a_role(shop, "granting", *(f"allow {rule}" for rule in rules), held_by=("service:robot",))
    row = open_it()
    emergency_access.end(row.pk, by=acting("ana"))
    with pytest.raises(Refused, match="nobody reviews their own"):
        emergency_access.close(row.pk, "All was in order", by=acting(robot))
    assert not emergency_access.may_review(robot, row, orders())


def test_uses_while_it_was_open_are_listed(ana: Principal) -> None:
    row = open_it()
    times = {
        "before": row.opened - timedelta(seconds=1),
        "begin": row.opened,
        "during": row.opened + timedelta(minutes=5),
        "end": row.until,
    }
    for run, at in times.items():
        for person in (ana, a_person("mia")):
            use = {"principal": person, "securable_id": orders().id, "action": "read", "executed": True}
            Use.objects.create(realm_id=row.realm_id, reporter=ana, run=f"{run} {person}", at=at, **use)
    assert [use.run for use in traces.uses_of(row)] == ["during user:ana", "begin user:ana"]
    rows = [row, open_it(node=the("schema", "shop.stock"))]
    many = traces.how_many_uses(rows)
    assert many == {item.pk: len(traces.uses_of(item)) for item in rows}
    assert [many[item.pk] for item in rows] == [2, 0]


def test_every_page_can_say_that_it_is_open(ana: Principal) -> None:
    row = open_it()
    assert User.objects.get(username="ana").emergency_until == row.until
    emergency_access.end(row.pk, by=acting("ana"))
    assert User.objects.get(username="ana").emergency_until is None


def test_separation_of_duties_holds_in_an_emergency(ana: Principal, shop: Node) -> None:
    a_role(shop, "payer", held_by=("ana",))
    side = Side(role=the("role", "payer").id)
    other = Side(object=the("schema", "shop.sales").id, privileges=("SELECT_TABLE",))
    separation.make(shop, "Payments", side, other, by=acting("marek"))
    with pytest.raises(Separated):
        open_it()
    assert not Emergency.objects.exists()
    roles.unassign(the("role", "payer"), ana, by=BY, authority=AUTHORITY)
    open_it()


@pytest.mark.parametrize("table", [EMERGENCY, LETTER], ids=lambda table: table.name)
def test_the_page_shows_the_states_as_they_are(table: States) -> None:
    page = Path(__file__).parents[2] / "docs" / "emergencies.md"
    assert table.drawn() in page.read_text() + "\n"
