"""Every page of a Herd, by who comes: anybody sees its namespaces; the rest takes role and permissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from accounts.models import Principal
from policies.models import AccessRecord
from tests.console.visitors import DOOR, KEPT, misanswered
from tests.herd.world import a_herd, give, namespaces, role
from tests.kept import kept


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor gets; `{herd}` and `{namespace}` stand for numbers."""

    name: str
    address: str
    anonymous: int
    anybody: int
    without_role: int
    reviewer: int
    owner: int
    admin: int
    method: str = "get"


TAKE = "/herds/{herd}/roles/take?role=DATA_OWNER&who=user:olivia"
REMOVE = "/herds/{herd}/users/remove?id=carl"
PAGES = (
    Page("herd", "/herds/{herd}", DOOR, 200, 200, 200, 200, 200),
    Page("herd_csv", "/herds/{herd}/namespaces.csv", DOOR, 200, 200, 200, 200, 200),
    Page("herd_mine_csv", "/herds/{herd}/mine.csv", DOOR, 200, 200, 200, 200, 200),
    Page("herd_roles_csv", "/herds/{herd}/roles.csv", DOOR, 200, 200, 200, 200, 200),
    Page("herd_user_csv", "/herds/{herd}/users.csv?id=carl", DOOR, 403, 403, 200, 200, 200),
    Page("namespace_csv", "/namespaces/{namespace}/entries.csv", DOOR, 403, 403, 200, 200, 200),
    Page("namespace_new", "/herds/{herd}/new", DOOR, 200, 200, 200, 200, 200),
    Page("namespace_new", "/herds/{herd}/new", KEPT, 422, 422, 422, 422, 422, "post"),
    Page("herd_mine", "/herds/{herd}/mine", DOOR, 200, 200, 200, 200, 200),
    Page("herd_roles", "/herds/{herd}/roles", DOOR, 200, 200, 200, 200, 200),
    Page("herd_roles", "/herds/{herd}/roles", KEPT, 403, 403, 403, 403, 404, "post"),
    Page("herd_roles_take", TAKE, DOOR, 403, 403, 403, 403, 200),
    Page("herd_user", "/herds/{herd}/users?id=carl", DOOR, 403, 403, 200, 200, 200),
    Page("herd_user_remove", REMOVE, DOOR, 403, 403, 200, 200, 200),
    Page("herd_user_remove", REMOVE, KEPT, 403, 403, 200, 302, 302, "post"),
    Page("namespace", "/namespaces/{namespace}", DOOR, 200, 200, 200, 200, 200),
    Page("namespace", "/namespaces/{namespace}", KEPT, 403, 403, 403, 200, 200, "post"),
    Page("namespace_preview", "/namespaces/{namespace}/preview", KEPT, 403, 403, 403, 200, 200, "post"),
    Page("namespace_history", "/namespaces/{namespace}/history", DOOR, 200, 200, 200, 200, 200),
    Page("namespace_delete", "/namespaces/{namespace}/delete", DOOR, 403, 403, 403, 200, 200),
    Page("namespace_delete", "/namespaces/{namespace}/delete", KEPT, 403, 403, 403, 409, 409, "post"),
)
VISITORS = {
    "anonymous": "",
    "anybody": "zoe",
    "without_role": "mia",
    "reviewer": "noah",
    "owner": "olivia",
    "admin": "admin",
}


def make_numbers() -> dict[str, int]:
    """Of a Herd with one namespace, and people with each kind of permission there."""
    herd = a_herd()
    [sales] = namespaces(herd, "SALES")
    give("carl", "SALES", "READ")
    give("mia", "SALES", "READ", "GRANT")
    give("noah", "SALES", "READ")
    give("olivia", "SALES", "READ", "GRANT")
    role("noah")
    role("olivia")
    return {"herd": herd.id, "namespace": sales.id}


numbers = kept(make_numbers)


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    assert not misanswered(PAGES, visitor, VISITORS, signed_in, numbers)


@pytest.mark.parametrize("page", [item for item in PAGES if item.method == "get"], ids=lambda page: page.name)
def test_what_is_no_herd_is_not_found(
    page: Page, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    swapped = {"herd": numbers["namespace"], "namespace": numbers["herd"]}
    assert signed_in("admin").get(page.address.format(**swapped)).status_code == 404
    absent = {"herd": 987654321, "namespace": 987654321}
    assert signed_in("admin").get(page.address.format(**absent)).status_code == 404


def test_looking_at_others_is_recorded(numbers: dict[str, int], signed_in: Callable[[str], Client]) -> None:
    signed_in("zoe").get(f"/namespaces/{numbers['namespace']}")
    assert not AccessRecord.objects.filter(kind="looked").exists()
    signed_in("olivia").get(f"/namespaces/{numbers['namespace']}")
    looked = AccessRecord.objects.get(kind="looked")
    assert looked.actor == Principal.objects.get(name="olivia").pseudonym
    signed_in("zoe").post(f"/namespaces/{numbers['namespace']}")
    assert AccessRecord.objects.filter(kind="refused").exists()
