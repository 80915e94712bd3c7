"""Every page of a CDAP, by who comes: anybody sees their own; granting is for its administrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from accounts import people
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.objects import ObjectRef
from policies.authority import OPERATOR
from policies.models import AccessRecord
from policies.services import duties, entities, members
from tests.cdap.world import BY, a_cdap, a_role, give
from tests.console.visitors import DOOR, KEPT, misanswered
from tests.kept import kept


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor gets; `{realm}` stands for the instance's number."""

    name: str
    address: str
    anonymous: int
    anybody: int
    holder: int
    reviewer: int
    keeper: int
    owner: int
    method: str = "get"


NAME = "/instances/{realm}/name?text=dataset:ns1.*"
ENTITY = "/instances/{realm}/name?text=dataset:ns1.orders"
GONE = "/instances/{realm}/entities/delete?text=dataset:ns1.orders"
GIVE = "/instances/{realm}/grant?text=dataset:ns1.*"
TAKE = "/instances/{realm}/revoke?text=dataset:ns1.*&who=user:hana"
PAGES = (
    Page("instance", "/instances/{realm}", DOOR, 200, 200, 200, 200, 200),
    Page("cdap_entities", "/instances/{realm}/entities", DOOR, 200, 200, 200, 200, 200),
    Page("cdap_entities", "/instances/{realm}/entities?in=namespace:ns1", DOOR, 404, 200, 200, 200, 200),
    Page("cdap_register", "/instances/{realm}/entities/new", DOOR, 200, 200, 200, 200, 200),
    Page("cdap_register", "/instances/{realm}/entities/new", KEPT, 422, 422, 422, 422, 422, "post"),
    Page("cdap_delete", GONE, DOOR, 404, 403, 403, 403, 403),
    Page("cdap_delete", GONE, KEPT, 404, 403, 403, 403, 403, "post"),
    Page("instance_csv", "/instances/{realm}/names.csv", DOOR, 200, 200, 200, 200, 200),
    Page("cdap_entities_csv", "/instances/{realm}/entities.csv", DOOR, 200, 200, 200, 200, 200),
    Page("cdap_text", NAME, DOOR, 404, 200, 200, 200, 200),
    Page("cdap_text", ENTITY, DOOR, 404, 200, 200, 200, 200),
    Page("cdap_text", "/instances/{realm}/name?text=nonsense", DOOR, 404, 404, 404, 404, 404),
    Page("cdap_text", "/instances/{realm}/name?text=dataset:ns9.new", DOOR, 404, 404, 200, 200, 200),
    Page("cdap_grant", GIVE, DOOR, 403, 403, 403, 200, 200),
    Page("cdap_grant", GIVE, KEPT, 403, 403, 403, 200, 200, "post"),
    Page("cdap_grant_people", "/instances/{realm}/grant/people?find=h", DOOR, 403, 403, 403, 200, 200),
    Page("cdap_grant_preview", "/instances/{realm}/grant/preview", KEPT, 403, 403, 403, 200, 200, "post"),
    Page("cdap_revoke", TAKE, DOOR, 403, 403, 403, 200, 200),
    Page("cdap_revoke", TAKE, KEPT, 403, 403, 403, 302, 302, "post"),
)
VISITORS = {
    "anonymous": "",
    "anybody": "zoe",
    "holder": "hana",
    "reviewer": "rita",
    "keeper": "kim",
    "owner": "admin",
}


def make_numbers() -> dict[str, int]:
    """Hana may read the datasets of ns1, Rita reviews, Kim is of the admin group."""
    root = a_cdap(admin_group="keepers")
    for text in ("namespace:ns1", "dataset:ns1.orders"):
        entities.create(root, parse(text), by=OPERATOR)
    give(root, "dataset:ns1.*", "hana", "READ")
    a_role(root, "readers", "hana")
    for name in ("rita", "kim"):
        people.make_account(name)
    duties.give(root, "review_access", people.ensure("user", "rita"), **BY)
    members.join_group(people.ensure("group", "keepers"), people.ensure("user", "kim"), **BY)
    return {"realm": root.id}


numbers = kept(make_numbers)


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    assert not misanswered(PAGES, visitor, VISITORS, signed_in, numbers)


@pytest.mark.parametrize("page", [item for item in PAGES if item.method == "get"], ids=lambda page: page.name)
def test_what_is_no_cdap_is_not_found(
    page: Page, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    orders = find(ObjectRef("dataset", "cdap", ("ns1", "orders")))
    assert orders is not None
    for number in (orders.id, 987654321):
        assert signed_in("hana").get(page.address.format(realm=number)).status_code == 404


def test_looking_at_others_is_recorded(numbers: dict[str, int], signed_in: Callable[[str], Client]) -> None:
    signed_in("hana").get(NAME.format(**numbers))
    assert not AccessRecord.objects.filter(kind="looked").exists()
    signed_in("rita").get(NAME.format(**numbers))
    assert AccessRecord.objects.get(kind="looked").operation == "access to dataset:ns1.*"
    signed_in("zoe").get(NAME.format(**numbers))
    assert AccessRecord.objects.filter(kind="refused").exists()
