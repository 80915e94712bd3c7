"""What somebody might send who wants to learn, or to break, more than is theirs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.errors import Conflict, Invalid, NotFound, Refused, Unsealed
from policies.models import AccessRequest, Event, Grant, RequestPart, RequestWant
from policies.models.approval_seals import is_part_sealed
from policies.record.verify import verify
from policies.requests import escalation, rules, submission, visibility
from policies.separation.sides import Side
from policies.services import accounts, grants, members, seals, separation
from tests.factories import AUTHORITY, BY, a_role, admit, the
from tests.policies.superuser import former
from tests.requests.test_api import BASE, asked, caller
from tests.requests.world import approve, ask, begins_now, by, can, refuse, who


def test_whom_it_does_not_concern_learns_not_even_that_it_lapsed(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    AccessRequest.objects.update(lapses_at=timezone.now() - timedelta(seconds=1))
    for deed in (approve, refuse):
        with pytest.raises(NotFound):
            deed(request, "ben")
        with pytest.raises(Conflict, match="has lapsed"):
            deed(request, "theo")


def test_a_role_is_not_called_less_than_it_gives(shop: Node) -> None:
    rights = "allow SELECT_TABLE on table shop.sales.orders", "allow MODIFY_TABLE on table shop.sales.orders"
    a_role(shop, "browsing", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))
    a_role(shop, "way", "allow USE_CATALOG on catalog shop", held_by=("ana",))
    role = a_role(shop, "both", *rights)
    request = ask("ana", "read shop.sales.orders", "write shop.sales.orders")
    [part] = request.parts.all()
    assert set(part.privileges) == {"SELECT_TABLE", "MODIFY_TABLE"}
    with pytest.raises(Invalid, match="given whole"):
        approve(request, "marek", role=role.id, give={part.number: ["SELECT_TABLE"]})
    whole = {part.number: list(part.privileges)}
    assert approve(request, "marek", role=role.id, give=whole).state == "approved"


def test_how_often_a_next_level_was_asked_is_kept_from_who_may_not_know_it(shop: Node) -> None:
    rules.set_rule(shop, by=by("marek"), escalate_hours=24)
    request = ask("ana", "read shop.sales.orders")
    escalation.tick(timezone.now() + timedelta(hours=25))
    moves = {
        name: [step.move for step in visibility.get(request.pk, who(name)).steps]
        for name in ("ana", "olivia")
    }
    assert "escalated" in moves["olivia"]
    assert moves["ana"] == ["asked"]
    events = Event.objects.filter(kind="request.escalated")
    assert events.exists()
    assert not events.filter(people__contains=[who("ana").pseudonym]).exists()


def test_why_it_could_not_begin_names_nobody_else_to_who_asked(shop: Node) -> None:
    sides = {"refunds": "MODIFY_TABLE", "orders": "SELECT_TABLE"}
    first, other = (
        Side(object=the("table", f"shop.sales.{at}").id, privileges=(code,)) for at, code in sides.items()
    )
    separation.make(shop, "orders and refunds", first, other, by=by("marek"), reason="two pairs of eyes")
    a_role(shop, "refunds", "allow MODIFY_TABLE on table shop.sales.refunds", held_by=("mia",))
    start = timezone.now() + timedelta(days=3)
    request = ask("ben", "read shop.sales.orders", holder="group:analysts", starts=start)
    assert approve(request, "marek", parts=[part.number for part in request.parts.all()]).state == "approved"
    begins_now()
    escalation.tick(timezone.now())
    seen = visibility.get(request.pk, who("ben"))
    assert seen.request.state == "asked"
    texts = [*(item.note for item in seen.parts), *(step.text for step in seen.steps)]
    assert any("separation" in text for text in texts)
    assert not any("mia" in text or "refunds" in text for text in texts)


def test_who_keeps_the_program_that_asks_learns_no_more_than_it(shop: Node) -> None:
    robot = people.ensure("service", "robot")
    accounts.set_keeper(robot, who("ana"), by=BY, authority=AUTHORITY)
    admit(shop, "service:robot")
    request = ask("service:robot", "read shop.sales.orders")
    seen = visibility.get(request.pk, who("ana"))
    assert [seen.deciders(part) for part in seen.parts if part.type == "table"] == [None]


def test_who_keeps_a_program_in_a_group_decides_nothing_for_the_group(shop: Node) -> None:
    robot = people.ensure("service", "robot")
    accounts.set_keeper(robot, who("marek"), by=BY, authority=AUTHORITY)
    members.join_group(who("group:analysts"), robot, by=BY, authority=AUTHORITY)
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    with pytest.raises(Refused, match="You cannot decide a request that"):
        approve(request, "marek", parts=[part.number for part in request.parts.all()])
    assert request.pk not in visibility.waiting_for(who("marek")).values_list("pk", flat=True)


FAR = "9999-12-31T23:59:59-14:00"
BODIES = {
    "withdraw with a NUL": ("ana", "withdraw", {"reason": "\0"}),
    "withdraw with half a letter": ("ana", "withdraw", {"reason": "\ud800"}),
    "approve until after all time": ("theo", "approve", {"until": FAR}),
}


@pytest.mark.parametrize(("name", "deed", "body"), BODIES.values(), ids=BODIES)
def test_what_cannot_be_kept_is_refused(shop: Node, name: str, deed: str, body: object) -> None:
    number = asked()
    answer = caller(name).send(f"{BASE}/{number}/{deed}", body)
    assert answer.status_code == 400, answer.content
    assert AccessRequest.objects.get(pk=number).state == "asked"


def test_nobody_is_named_a_substitute_after_all_time(shop: Node) -> None:
    admit(shop, "ben")
    body = {"deputy": "user:ben", "starts": "9999-12-31T20:00:00-14:00", "ends": FAR}
    assert caller("marek").send("/authz/v1/substitutes", body).status_code == 400


APPROVED_PAST = (
    "UPDATE policies_requestpart SET state = 'approved', given = privileges, decided_at = now(),"
    " decided_by_id = {marek}",
    "UPDATE policies_requestwant SET due = now()",
)


def test_an_approval_that_is_written_into_the_database_gives_nothing(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    with connection.cursor() as cursor:
        for statement in APPROVED_PAST:
            cursor.execute(statement.format(marek=who("marek").pk))
    escalation.tick(timezone.now())
    assert not can("ana") and not Grant.objects.filter(origin="request").exists()
    seen = visibility.get(request.pk, who("marek"))
    assert {part.state for part in seen.parts} == {"asked"}
    assert any("not approved in this console" in step.text for step in seen.steps)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE policies_accessrequest SET holder_id = {mia}",
        "UPDATE policies_accessrequest SET lasts = 'P90D'",
        "UPDATE policies_requestpart SET given = '{{MODIFY_TABLE}}', needed = '{{\"MODIFY_TABLE\": [0]}}'"
        " WHERE type = 'table'",
        "UPDATE policies_requestpart SET seal = NULL",
    ],
)
def test_what_was_approved_for_later_and_edited_gives_nothing(shop: Node, edit: str) -> None:
    start = timezone.now() + timedelta(days=3)
    request = ask("ana", "read shop.sales.orders", starts=start, lasts="P7D")
    approve(request, "marek", parts=[0, 1, 2])
    begins_now()
    with connection.cursor() as cursor:
        cursor.execute(edit.format(mia=who("mia").pk))
    escalation.tick(timezone.now())
    assert not Grant.objects.filter(origin="request").exists()


def copied() -> Callable[[], None]:
    """Copies of all that requests are kept in, as they stand; called later, these are put back."""
    copies = [former(model) for model in (AccessRequest, RequestPart, RequestWant)]
    return lambda: [put_back() for put_back in copies] and None


def test_an_approval_that_was_taken_back_with_its_request_gives_nothing_though_it_is_put_back(
    shop: Node,
) -> None:
    request = ask("ana", "read shop.sales.orders")
    for decider, part in (("carla", 0), ("olivia", 1)):
        approve(request, decider, parts=[part])
    put_back = copied()
    submission.withdraw(request.pk, by=by("ana"))
    assert verify()
    put_back()
    assert any("requestpart" in line for line in verify().differing)
    approve(request, "theo")
    assert not can("ana") and not Grant.objects.filter(origin="request").exists()
    for decider, part in (("carla", 0), ("olivia", 1)):  # who decides it again answers for it
        approve(request, decider, parts=[part])
    assert can("ana")


UNTOLD = "UPDATE policies_requestpart SET edition = 2147483647, seal = '\\x00'"


def test_an_edition_that_nobody_told_is_not_gone_on_from(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    with connection.cursor() as cursor:
        cursor.execute(UNTOLD)
    with pytest.raises(Unsealed, match="requestpart:"):
        approve(request, "marek")
    submission.withdraw(request.pk, by=by("ana"))
    assert set(RequestPart.objects.values_list("edition", "seal")) == {(1, None)}
    assert verify()


def test_an_edition_that_nobody_told_is_set_right_so_that_it_can_be_decided(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "carla", parts=[0])
    with connection.cursor() as cursor:
        cursor.execute(f"{UNTOLD} WHERE state <> 'approved'")
    done = seals.set_right()
    assert len(done) == 2 and all("no change told its edition" in line for line in done)
    approve(request, "marek", parts=[1, 2])
    assert can("ana") and verify()


def test_a_new_key_seals_what_was_approved_for_later(shop: Node, settings: Any) -> None:
    request = ask("ana", "read shop.sales.orders", starts=timezone.now() + timedelta(days=3), lasts="P7D")
    approve(request, "marek", parts=[0, 1])
    old = settings.LAKEWARDEN_SECRET_KEYS
    settings.LAKEWARDEN_SECRET_KEYS = ("a new key of thirty-two letters!!", *old)
    assert not seals.seal_what_is_told().wrong
    settings.LAKEWARDEN_SECRET_KEYS = settings.LAKEWARDEN_SECRET_KEYS[:1]
    parts = request.parts.filter(state="approved").select_related("request")
    assert [is_part_sealed(part.request, part) for part in parts] == [True, True]


def test_a_new_key_makes_no_approval_of_a_forged_one(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", starts=timezone.now() + timedelta(days=3), lasts="P7D")
    approve(request, "marek", parts=[0, 1, 2])
    request.parts.filter(number=0).update(given=["MODIFY_TABLE"])
    [wrong] = seals.seal_what_is_told().wrong
    assert wrong == f"requestpart:{request.parts.get(number=0).pk}: it was not approved in this console"


def test_an_approval_whose_edition_was_raised_is_decided_again(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "carla", parts=[0])
    with connection.cursor() as cursor:
        cursor.execute(f"{UNTOLD} WHERE state = 'approved'")
        assert cursor.rowcount == 1
    approve(request, "marek", parts=[1, 2])
    assert not can("ana")
    approve(request, "carla", parts=[0])
    assert can("ana") and verify()


def test_what_was_given_once_is_not_given_again(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders", starts=timezone.now() + timedelta(days=3), lasts="P7D")
    approve(request, "marek", parts=[0, 1, 2])
    begins_now()
    put_back = copied()
    escalation.tick(timezone.now())
    assert can("ana") and verify()
    for type_, place, privilege in (
        ("table", "shop.sales.orders", "SELECT_TABLE"),
        ("schema", "shop.sales", "USE_SCHEMA"),
        ("catalog", "shop", "USE_CATALOG"),
    ):
        assert grants.remove(the(type_, place), [who("ana")], [privilege], by=by("marek")) == 1
    assert not can("ana")
    put_back()
    assert any("requestpart" in line for line in verify().differing)
    escalation.tick(timezone.now())
    assert not can("ana") and verify()
