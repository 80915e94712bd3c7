"""Hints: shown with their ground to people who may act, applied after a preview, dismissed with a reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from accounts import people
from catalog.nodes import Node
from policies.models import Change, Event, Grant, Hint
from tests.console.insights.test_pages import reviewing, run, text
from tests.factories import a_use, the
from tests.kept import kept
from tests.pipelines.test_hints import a_hint
from tests.policies.superuser import past_triggers

pytestmark = pytest.mark.django_db
DATA: dict[str, Any] = {
    **dict.fromkeys(("days", "reported", "objects", "used", "shared", "rules", "only"), 3),
    **dict.fromkeys(("others", "why", "holds"), "Something"),
}


def make_unused(shop: Node) -> Hint:
    """Nobody uses what role sales_read gives on schema sales: only Marek read it, by another way."""
    people.make_account("olivia")
    a_use("marek", the("table", "shop.sales.orders"), days=40, by="etl")
    run(shop, "unused_grants")
    return Hint.objects.get(kind="unused_grant", privilege="SELECT_TABLE")


unused = kept(make_unused, on="shop")


def test_hints_are_told_with_ground_revision_and_age(
    unused: Hint, signed_in: Callable[[str], Client]
) -> None:
    olivia = signed_in("olivia")
    page = text(olivia, "/hints")
    assert "Nobody uses it" in page
    assert "Read tables, by role sales_read" in page
    assert "Usage data covers 1 of" in page
    assert f"Revision {unused.revision}, " in page
    assert f"demo: checked at revision {unused.revision}, " in page
    assert "browse" not in page  # on the catalog, where Olivia gives nothing
    assert "browse" in text(signed_in("marek"), "/hints")


def test_filters_are_in_the_address(unused: Hint, shop: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    assert "by role sales_read" in text(olivia, f"/hints?kind=unused_grant&in={shop.id}")
    page = text(olivia, "/hints?kind=near_roles")
    assert "by role sales_read" not in page
    assert "No hint matches" in page
    assert "by role sales_read" in text(olivia, "/hints?kind=nonsense&in=x&after=y")
    assert "by role sales_read" not in text(olivia, "/hints?in=987654321")


def test_one_is_mended_after_a_look_and_undone(unused: Hint, signed_in: Callable[[str], Client]) -> None:
    olivia, address = signed_in("olivia"), f"/hints/{unused.pk}/mend"
    page = text(olivia, address)
    assert "Revoke Read on sales?" in page
    assert "loses" in page
    assert "it gives Read to 2 people" in page
    assert Grant.objects.open().filter(pk=unused.grant).exists()  # nothing is done by looking
    form = {"nonce": "a" * 24, "reason": "Not needed"}
    page = olivia.post(address, form, follow=True).content.decode()
    assert "is revoked" in page
    assert not Grant.objects.open().filter(pk=unused.grant).exists()
    assert Change.objects.latest("revision").reason == "Not needed"
    again = olivia.post(address, form, follow=True).content.decode()
    assert "is revoked" in again  # the same form again says the same
    assert Event.objects.filter(kind="grant.removed").count() == 1
    olivia.post(f"/undo/{Change.objects.latest('revision').revision}")
    role = Grant.objects.get(pk=unused.grant).role_id
    assert Grant.objects.open().filter(role=role, privilege="SELECT_TABLE").exists()


def test_what_ended_meanwhile_is_said(unused: Hint, signed_in: Callable[[str], Client]) -> None:
    olivia, address = signed_in("olivia"), f"/hints/{unused.pk}/mend"
    past_triggers(f"UPDATE policies_grant SET closed = 99 WHERE id = {unused.grant}")
    assert "It has ended meanwhile." in text(olivia, address)
    page = olivia.post(address, {"nonce": "b" * 24}, follow=True).content.decode()
    assert "Nothing changed. It has ended meanwhile." in page


def test_one_is_dismissed_with_a_reason_and_brought_back(
    unused: Hint, signed_in: Callable[[str], Client]
) -> None:
    olivia, address = signed_in("olivia"), f"/hints/{unused.pk}/dismiss"
    assert "Leave sales as it is?" in text(olivia, address)
    empty = olivia.post(address, {"reason": " "})
    assert empty.status_code == 422
    assert "Give a reason why it stays" in empty.content.decode()
    page = olivia.post(address, {"reason": "For the yearly report"}, follow=True).content.decode()
    assert "Dismissed: nobody uses it, sales" in page
    assert f"/hints/{unused.pk}/" not in page
    gone = text(olivia, "/hints?show=dismissed")
    assert "For the yearly report" in gone
    assert "Dismissed by" in gone
    twice = olivia.post(address, {"reason": "Me too"}, follow=True).content.decode()
    assert "It is already dismissed." in twice
    olivia.post(f"/hints/{unused.pk}/back")
    assert f"/hints/{unused.pk}/mend" in text(olivia, "/hints")


def test_who_reviews_sees_hints_and_changes_nothing(
    unused: Hint, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    dora = reviewing(shop, signed_in)
    page = text(dora, "/hints")
    assert "by role sales_read" in page
    assert 'aria-describedby="why-not-mend"' in page
    assert f'href="/hints/{unused.pk}/mend"' not in page
    for deed, answer in (
        ("mend", dora.get),
        ("mend", dora.post),
        ("dismiss", dora.post),
        ("back", dora.post),
    ):
        assert answer(f"/hints/{unused.pk}/{deed}").status_code == 403, deed
    assert Grant.objects.open().filter(pk=unused.grant).exists()
    assert not Event.objects.filter(kind__startswith="hint.").exists()


@pytest.mark.parametrize("name", ["ana", "mia", "nobody"])
def test_a_hidden_hint_reads_like_an_absent_one(
    unused: Hint, signed_in: Callable[[str], Client], name: str
) -> None:
    client = signed_in(name)
    assert "by role sales_read" not in text(client, "/hints")
    for number in (unused.pk, 987654321):
        for answer in (client.get, client.post):
            assert answer(f"/hints/{number}/mend").status_code == 404
            assert answer(f"/hints/{number}/dismiss").status_code == 404
        assert client.post(f"/hints/{number}/back").status_code == 404


def test_each_kind_leads_to_the_change_that_mends_it(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek, sales = signed_in("marek"), the("schema", "shop.sales")
    read, browse = the("role", "sales_read").id, the("role", "browse").id
    mia = people.ensure("user", "mia")
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("ownerless", {"securable_id": sales.id}, f"/objects/{sales.id}/owner"),
        ("dormant_person", {"holder": mia}, f"/people/{mia.pk}/leaving"),
        ("near_roles", {"role_id": read, "other_role_id": browse}, "/roles/compare?a=sales_read&b=browse"),
        ("wide_grant", {"securable_id": sales.id, "role_id": read}, f"/roles/{read}/give/{sales.id}"),
        (
            "wide_grant",
            {"securable_id": sales.id, "holder": mia, "privilege": "SELECT_TABLE"},
            f"/objects/{sales.id}/revoke?may=SELECT_TABLE&who=user%3Amia",
        ),
    )
    for kind, about, address in cases:
        hint = a_hint(shop, kind=kind, data=DATA, **about)
        assert f'href="{escape(address)}"' in text(marek, f"/hints?kind={kind}"), kind
        assert text(marek, address)
        assert marek.get(f"/hints/{hint.pk}/mend").url == address
        hint.delete()


def test_nobody_has_looked_yet(shop: Node, signed_in: Callable[[str], Client]) -> None:
    page = text(signed_in("marek"), "/hints")
    assert "Not checked yet" in page
    assert "Open the pipelines" in page
    assert "Open the pipelines" not in text(signed_in("mia"), "/hints")


def test_a_long_list_has_pages_and_a_constant_number_of_queries(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    marek = signed_in("marek")
    a_hint(shop, kind="ownerless", securable_id=the("schema", "shop.sales").id, data=DATA)
    marek.get("/hints")
    with CaptureQueriesContext(connection) as few:
        marek.get("/hints")
    orders = the("table", "shop.sales.orders").id
    made = [
        a_hint(shop, kind="ownerless", securable_id=orders, people=200 - at, data=DATA) for at in range(69)
    ]
    with CaptureQueriesContext(connection) as many:
        page = text(marek, "/hints")
    assert len(many) == len(few)
    assert len(page.encode()) < 100_000
    assert "70 hints" in page
    behind = f"after={made[29].people}.{made[29].pk}"
    assert behind in page
    second = text(marek, f"/hints?{behind}")
    assert f"/hints/{made[30].pk}/dismiss" in second
    assert f"/hints/{made[29].pk}/dismiss" not in second


# On other pages


def pages_of(name: str, unused: Hint) -> list[str]:
    assert unused.role is not None
    return [f"/objects/{unused.securable_id}", f"/roles/{unused.role.pk}"]


def test_they_stand_on_the_pages_of_object_and_role(unused: Hint, signed_in: Callable[[str], Client]) -> None:
    for name in ("marek", "olivia"):
        client = signed_in(name)
        for address in pages_of(name, unused):
            if client.get(address).status_code == 404:  # a role that Olivia may not open
                continue
            page = text(client, address)
            assert "Nobody uses it" in page, address
            assert f'href="/hints/{unused.pk}/mend?back={quote(address, safe="")}"' in page
            assert f"Revision {unused.revision}, " in page
    for name in ("mia", "ana"):
        client = signed_in(name)
        for address in pages_of(name, unused):
            assert "Nobody uses it" not in client.get(address).content.decode()


@pytest.mark.parametrize("deed", ["mend", "dismiss"])
def test_one_comes_back_to_the_page_where_it_stood(
    deed: str, unused: Hint, signed_in: Callable[[str], Client]
) -> None:
    olivia, page = signed_in("olivia"), f"/objects/{unused.securable_id}"
    form = {"nonce": "c" * 24, "reason": "Not needed"}
    address = f"/hints/{unused.pk}/{deed}"
    for elsewhere in ("https://example.org/", "//example.org", "javascript:alert(1)", ""):
        asked = f"{address}?{urlencode({'back': elsewhere})}"
        assert '<a class="btn" href="/hints"' in text(olivia, asked), elsewhere
    answer = olivia.post(f"{address}?{urlencode({'back': page})}", form)
    assert (answer.status_code, answer.url) == (302, page)


def test_they_stand_on_the_page_of_a_person(shop: Node, signed_in: Callable[[str], Client]) -> None:
    mia = people.ensure("user", "mia")
    people.make_account("marek")
    hint = a_hint(shop, kind="dormant_person", holder=mia, data=DATA)
    page = text(signed_in("marek"), f"/people/{mia.pk}")
    assert "Dormant access" in page
    assert f'href="/people/{mia.pk}/leaving"' in page
    assert f"/hints/{hint.pk}/dismiss" in page
    assert "Dormant access" not in text(signed_in("mia"), f"/people/{mia.pk}")
    assert "Dormant access" not in text(signed_in("olivia"), f"/people/{mia.pk}")


@pytest.mark.parametrize("where", ["object", "role", "person"])
def test_they_cost_each_page_the_same_for_one_and_for_many(
    where: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    marek, mia = signed_in("marek"), people.ensure("user", "mia")
    sales, role = the("schema", "shop.sales").id, the("role", "sales_read").id
    address = {"object": f"/objects/{sales}", "role": f"/roles/{role}", "person": f"/people/{mia.pk}"}[where]

    def one(many: int) -> int:
        for _ in range(many):
            a_hint(shop, kind="wide_grant", securable_id=sales, role_id=role, holder=mia, data=DATA)
        marek.get(address)
        with CaptureQueriesContext(connection) as asked:
            page = text(marek, address)
        assert "Wider than used" in page
        return len(asked)

    assert one(1) == one(30)


def test_home_tells_an_owner_of_new_ones(unused: Hint, signed_in: Callable[[str], Client]) -> None:
    many = Hint.objects.filter(securable__placements__name="sales").count()
    assert f"<strong>{many} new hints</strong> on what you own in" in text(signed_in("olivia"), "/")
    assert "on what you own in" in text(signed_in("marek"), "/")
    assert "new hint" not in text(signed_in("mia"), "/")
    Hint.objects.update(found=timezone.now() - timedelta(days=8))
    assert "new hint" not in text(signed_in("olivia"), "/")
