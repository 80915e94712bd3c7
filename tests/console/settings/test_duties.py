"""Duties on an object: seen with what comes from above, given and taken by the realm's owner and admins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import ensure, make_account
from catalog.nodes import Node
from policies.decisions import duties
from policies.models import AccessRecord, Change
from policies.services.duties import give as give_duty
from policies.services.duties import take as take_duty
from tests.console.people.test_groups import undo_on
from tests.console.settings.test_owners_and_members import posted
from tests.factories import AUTHORITY, BY, a_person, the

Enter = Callable[[str], Client]


def has(name: str, duty: str, node: Node) -> bool:
    return duties.has(a_person(name), duty, node)


def orders() -> Node:
    return the("table", "shop.sales.orders")


def page_of(node: Node, what: str = "") -> str:
    return f"/objects/{node.id}/duties{what}"


def test_duties_here_and_from_above_are_told_apart(shop: Node, signed_in: Enter) -> None:
    make_account("ana"), make_account("mia")
    for node, duty, name in ((shop, "view_history", "ana"), (orders(), "review_access", "mia")):
        give_duty(node, duty, a_person(name), by=BY, authority=AUTHORITY)
    body = signed_in("marek").get(page_of(orders())).content.decode()
    assert "From demo" in body
    assert ">Here<" in body
    assert body.count("Revoke") == 1  # what comes from above is taken back above
    assert AccessRecord.objects.filter(kind="looked", operation="duties").exists()


def test_the_owner_of_the_realm_gives_a_duty_and_takes_it_back(shop: Node, signed_in: Enter) -> None:
    marek, sales = signed_in("marek"), the("schema", "shop.sales")
    make_account("ana")
    looked = marek.post(page_of(sales, "/give"), {"who": "user:ana", "duty": "view_history", "step": "look"})
    assert "may read the history of sales and everything inside" in looked.content.decode()
    assert not has("ana", "view_history", sales)

    answer = posted(
        marek,
        page_of(sales, "/give"),
        who=["user:ana", "group:analysts"],
        duty=["view_history", "export_history"],
        step="save",
        reason="Audit 2026",
    )
    assert has("ana", "export_history", orders())
    assert has("mia", "view_history", orders())  # as one of the analysts
    assert Change.objects.latest("revision").reason == "Audit 2026"
    marek.post(undo_on(marek, answer["Location"]))
    assert not has("ana", "export_history", orders())
    assert not has("mia", "view_history", orders())

    give_duty(sales, "operate_sync", a_person("ana"), by=BY, authority=AUTHORITY)
    address = page_of(sales, "/take?who=user:ana&duty=operate_sync")
    assert "may no longer run and pause the sync of sales" in marek.get(address).content.decode()
    answer = posted(marek, address)
    assert not has("ana", "operate_sync", sales)
    marek.post(undo_on(marek, answer["Location"]))
    assert has("ana", "operate_sync", sales)


@pytest.mark.parametrize("name", ["olivia", "mia"])
def test_who_owns_only_a_part_of_it_gives_no_duties(name: str, shop: Node, signed_in: Enter) -> None:
    client, form = signed_in(name), {"who": "user:mia", "duty": "break_glass", "step": "save"}
    make_account("mia")
    assert "assigned by its owner, marek" in client.get(page_of(orders())).content.decode()
    assert client.post(page_of(orders(), "/give"), form).status_code == 403
    assert not has("mia", "break_glass", orders())
    assert AccessRecord.objects.filter(kind="refused", operation="realm_office").count() == 1


def test_readers_see_their_own_duties_and_no_others(shop: Node, signed_in: Enter) -> None:
    make_account("ana"), make_account("mia")
    for name in ("ana", "mia"):
        give_duty(
            shop,
            "view_history" if name == "mia" else "break_glass",
            a_person(name),
            by=BY,
            authority=AUTHORITY,
        )
    take_duty(shop, "view_history", a_person("mia"), by=BY, authority=AUTHORITY)
    give_duty(shop, "operate_sync", a_person("mia"), by=BY, authority=AUTHORITY)
    body = signed_in("mia").get(page_of(orders())).content.decode().partition("<main")[2]
    assert "Sync" in body
    assert "Emergency access" not in body


def test_a_service_admin_gives_duties_in_a_realm_that_does_not_admit_them(
    shop: Node, signed_in: Enter, settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    sam, address = signed_in("sam"), page_of(shop, "/give")
    make_account("ana")
    body = sam.get(page_of(shop)).content.decode()
    assert "not the contents" in body
    assert "shop" not in body.split("<main")[1]
    posted(sam, address, who="user:ana", duty="view_history", step="save")
    assert has("ana", "view_history", shop)
    assert sam.get(page_of(orders())).status_code == 404


def test_whoever_has_no_account_holds_no_duty(shop: Node, signed_in: Enter) -> None:
    answer = posted(
        signed_in("marek"), page_of(shop, "/give"), who="user:ana", duty="view_history", step="save"
    )
    assert answer.status_code == 422
    assert "has no account to hold a duty" in answer.content.decode()


@pytest.mark.parametrize(
    "form", [{"who": "user:ana"}, {"duty": "view_history"}, {"who": "user:ana", "duty": "everything"}]
)
def test_a_form_half_filled_says_what_is_missing(form: dict[str, str], shop: Node, signed_in: Enter) -> None:
    make_account("ana")
    assert posted(signed_in("marek"), page_of(shop, "/give"), step="save", **form).status_code == 422
    assert not duties.duties_along(shop)


def test_a_service_account_may_have_a_duty(shop: Node) -> None:
    assert not duties.has(ensure("service", "etl"), "view_history", shop)
