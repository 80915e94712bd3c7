"""Somebody at work in two realms: what they have in the one is neither shown nor changed from the other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db.models import Model, QuerySet

from accounts.models import Membership
from accounts.people import ensure
from policies.models import Grant, Ownership, RealmMember, UserDuty
from policies.services import duties, grants, members
from policies.services.grants import GrantRequest
from tests.console.site_pages import ADMIN
from tests.factories import AUTHORITY, BY, acting, admit, owned, the
from tests.kept import kept
from tests.realms.forms import Drawn, changed, state, taken_back
from tests.realms.test_every_form import entered
from tests.realms.test_several_realms import addresses
from tests.realms.world import HIDDEN, several_realms, text_of

LAKE = "zebra_lake"


def make_shared() -> dict[str, int]:
    """Erik reads in demo, and has an object, a right, a group and a duty in the second metalake."""
    numbers, erik = several_realms(), ensure("user", "erik")
    root = the("metalake", "", LAKE)
    admit(root, "erik")
    members.join_group(ensure("group", "zebra_team"), erik, by=BY, authority=AUTHORITY)
    duties.give(root, "view_history", erik, by=BY, authority=AUTHORITY)
    owned(the("schema", "zebra_catalog.zebra_schema", LAKE), "erik")
    hidden, orders = (
        the("table", "zebra_catalog.zebra_schema.zebra_table", LAKE),
        the("table", "shop.sales.orders"),
    )
    for table, owner in ((hidden, "zebra_owner"), (orders, "olivia")):
        grants.add(GrantRequest(table, (erik,), ("SELECT_TABLE",)), by=acting(owner))
    return {**numbers, "erik": erik.pk}


site = kept(make_shared)


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


NAMING = (
    "/why?who=user:erik&what=shop.sales.orders&action=read&type=table",
    "/people/{ana}/same?as=user:erik",
    "/people/{erik}/same?as=user:ana",
    "/people/{erik}/leaving?who=user:olivia",
    "/people/{erik}/then?at=2026-01-01",
    "/people/{erik}/then.csv?at=2026-01-01",
    "/people/{erik}/sees?in={sales}",
    "/objects/{orders}/grant?who=user:erik",
    "/objects/{orders}/revoke?who=user:erik",
    "/realms/{root}/members/remove?who=user:erik",
    "/separation/{rule}/let?who=user:erik",
    "/roles/compare?a=user:erik&b=user:ana",
    *(f"/owners{page}?of=user:erik" for page in ("", ".csv")),
    *(f"/history{log}=user:erik" for log in ("?person", ".csv?person", "/looks?actor")),
    *(f"/{room}?q=erik" for room in ("people", "search", "search/found", "search/names")),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["marek", "olivia", "dora"])
def test_no_page_about_them_tells_of_the_other_realm(site: dict[str, int], name: str) -> None:
    other = entered("zebra_owner").get(f"/people/{site['erik']}")
    assert HIDDEN in text_of(other)
    client = entered(name)
    asked = [address for address in addresses([site["erik"]]) if address != "/sign-out"]
    named = [address.format(**site) for address in NAMING]
    assert [
        address for address in (*asked, *named) if HIDDEN in text_of(client.get(address, follow=True))
    ] == []


def held(erik: int) -> list[list[Any]]:
    """What they have in the second metalake, and in which groups they are."""
    realm = the("metalake", "", LAKE).realm_id
    rows: tuple[QuerySet[Any, Model], ...] = (
        Grant.objects.open().filter(securable__realm=realm),
        Ownership.objects.open().filter(securable__realm=realm),
        RealmMember.objects.open().filter(realm=realm),
        Membership.objects.open().filter(member=erik),
        UserDuty.objects.filter(user__principal=erik),
    )
    return [sorted(each.values_list("pk", flat=True)) for each in rows]


@pytest.mark.parametrize(
    "page",
    ["/people/{erik}/leaving?who=user:olivia", "/realms/{root}/members/remove?who=user:erik"],
)
def test_who_leaves_one_realm_keeps_what_they_have_in_the_other(site: dict[str, int], page: str) -> None:
    marek, address = entered("marek"), page.format(**site)
    drawn = Drawn(address)
    drawn.feed(marek.get(address).content.decode())
    [(to, body)] = [
        (to, body)
        for to, body in drawn.forms.items()
        if re.search(r"/(leaving|remove)\b", to) and "reason" in body
    ]
    before, all_of_it = held(site["erik"]), state()
    assert all(before)
    with taken_back():
        marek.post(to, {**body, "reason": "They changed their team", "step": "save"}, follow=True)
        assert {"policies_grant", "policies_realmmember"} <= set(changed(all_of_it, state()))
        assert held(site["erik"]) == before
