"""What somebody might send who wants to learn, or to break, more than is his."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.errors import Conflict, Invalid, NotFound
from policies.models import AccessRequest
from policies.requests import ageing, rules, seeing
from tests.factories import a_role
from tests.requests.test_api import BASE, asked, caller
from tests.requests.world import approve, ask, by, refuse, who


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
    ageing.tick(timezone.now() + timedelta(hours=25))
    moves = {
        name: [one.move for one in seeing.get(request.pk, who(name)).steps] for name in ("ana", "olivia")
    }
    assert "escalated" in moves["olivia"]
    assert moves["ana"] == ["asked"]


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
    people.ensure("user", "ben")
    body = {"deputy": "user:ben", "starts": "9999-12-31T20:00:00-14:00", "ends": FAR}
    assert caller("ana").send("/authz/v1/substitutes", body).status_code == 400
