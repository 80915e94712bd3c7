"""Nobody gets round the rule against deciding for oneself: not by leaving, handing over, coming back."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Membership
from catalog.nodes import Node
from policies.errors import Refused
from policies.models import Change
from policies.requests import parties, visibility
from policies.services import accounts, members
from tests.factories import AUTHORITY, BY, admit
from tests.requests.test_own import OWN
from tests.requests.world import approve, ask, refuse, who


@pytest.mark.parametrize("asked_first", [True, False])
def test_who_leaves_a_group_does_not_decide_for_it(shop: Node, asked_first: bool) -> None:
    group, theo = who("group:analysts"), who("theo")
    members.join_group(group, theo, by=BY, authority=AUTHORITY)
    if asked_first:
        request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    members.leave_group(group, theo, by=BY, authority=AUTHORITY)
    if not asked_first:
        request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    for deed in (approve, refuse):
        with pytest.raises(Refused, match=OWN):
            deed(request, "theo")
    assert not visibility.waiting_for(theo).exists()
    assert approve(request, "marek", parts=[part.number for part in request.parts.all()]).state == "approved"


@pytest.mark.parametrize(("long", "decides"), [(2, False), (0.5, True)])
def test_who_left_a_group_long_ago_decides_for_it(
    shop: Node, long: float, decides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, theo = who("group:analysts"), who("theo")
    members.join_group(group, theo, by=BY, authority=AUTHORITY)
    members.leave_group(group, theo, by=BY, authority=AUTHORITY)
    left = Change.objects.get(revision=Membership.objects.get(member=theo).closed)
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    monkeypatch.setattr(parties, "LATELY", (timezone.now() - left.at) * long)
    assert visibility.waiting_for(theo).exists() == decides
    assert (theo.pk in parties.of(request)) != decides


def test_who_hands_a_program_over_does_not_decide_for_it(shop: Node) -> None:
    service = people.ensure("service", "etl")
    accounts.set_keeper(service, who("theo"), by=BY, authority=AUTHORITY)
    admit(shop, "service:etl")
    accounts.set_keeper(service, who("ben"), by=BY, authority=AUTHORITY)
    request = ask("ben", "read shop.sales.orders", holder="service:etl")
    with pytest.raises(Refused, match=OWN):
        approve(request, "theo")
    assert not visibility.waiting_for(who("theo")).exists()


def test_who_left_sees_no_more_than_a_stranger(shop: Node) -> None:
    from policies.errors import NotFound

    group, mia = who("group:analysts"), who("mia")
    members.leave_group(group, mia, by=BY, authority=AUTHORITY)
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    with pytest.raises(NotFound):
        visibility.get(request.pk, mia)
