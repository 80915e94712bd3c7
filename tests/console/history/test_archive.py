"""Retention on the realm's page, the archive among the rooms of history, and what a past day says there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.models import Archive, Change, Counter
from policies.record.archive import files as archive_files
from policies.record.archive import removal, retention
from policies.services import duties
from tests.console.settings.test_owners_and_members import posted
from tests.factories import AUTHORITY, BY, the
from tests.policies.test_archiving import moved, realm, shop, spoil, top

Enter = Callable[[str], Client]
__all__ = ["shop", "top"]  # fixtures


def text(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, response.content
    return str(response.content.decode())


def test_an_owner_sets_how_long_it_stays_live(shop: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/realms/{shop.id}/retention"
    assert "for 400 days" in text(marek, f"/realms/{shop.id}")
    assert 'value="400"' in text(marek, address)
    assert posted(marek, address, keep="days", days="730").status_code == 302
    assert retention.days(realm(shop)) == 730
    last = Change.objects.get(revision=Counter.objects.get().revision)
    assert last.kind == "realm.retention"
    assert "stay live for 730 days" in text(marek, "/history")
    posted(marek, address, keep="for-ever", days="")
    assert retention.days(realm(shop)) is None and "permanently" in text(marek, f"/realms/{shop.id}")


@pytest.mark.parametrize("days", ["", "0", "364", "x", "-400", "9" * 9, "٤٠٠"])
def test_a_wrong_number_is_told_and_kept(shop: Node, signed_in: Enter, days: str) -> None:
    response = posted(signed_in("marek"), f"/realms/{shop.id}/retention", keep="days", days=days)
    assert response.status_code == 422 and "365" in response.content.decode()
    assert retention.days(realm(shop)) == 400


def test_who_does_not_own_the_realm_sets_nothing(shop: Node, signed_in: Enter) -> None:
    response = signed_in("olivia").post(f"/realms/{shop.id}/retention", {"keep": "for-ever"})
    assert response.status_code == 403 and retention.days(realm(shop)) == 400


def test_the_archive_is_searched_in_plain_sentences(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert "Nothing is archived" in text(marek, "/history/archive")
    moved(shop)
    page = text(marek, "/history/archive?realm=demo&q=refunds")
    assert "dropped table shop.sales.refunds" in page and "slower" in page
    page = text(marek, "/history/archive?realm=demo&person=ana&q=yearly")
    assert "yearly closing" in page and "dropped table" not in page
    assert "Nobody is called nobody." in text(marek, "/history/archive?realm=demo&person=nobody")
    assert "Nothing in the archive matches" in text(marek, "/history/archive?realm=demo&q=nowhere")
    assert 'id="fnd"' not in text(marek, "/history/archive?realm=elsewhere")


def test_nobody_finds_there_what_they_may_not_see_live(shop: Node, signed_in: Enter) -> None:
    moved(shop)
    assert "Nothing is archived" in text(signed_in("ana"), "/history/archive?realm=demo&q=refunds")
    people.make_account("dora")
    duties.give(
        the("schema", "shop.stock"), "view_history", people.ensure("user", "dora"), by=BY, authority=AUTHORITY
    )
    olivia = text(signed_in("olivia"), "/history/archive?realm=demo")
    assert "shop.sales.refunds" in olivia and "shop.stock" not in olivia


def test_an_archive_that_is_gone_is_told(shop: Node, signed_in: Enter, top: object) -> None:
    archive = moved(shop)
    spoil(archive_files.top() / archive.folder / archive_files.EVENTS)
    (archive_files.top() / archive.folder / archive_files.EVENTS).unlink()
    assert "The archive cannot be read" in text(signed_in("marek"), "/history/archive?realm=demo&q=x")


def test_a_day_before_it_says_that_it_is_archived(shop: Node, signed_in: Enter) -> None:
    archive = moved(shop)
    marek, orders = signed_in("marek"), the("table", "shop.sales.orders").id
    for then in (str(archive.upto - 1), "2001-01-01"):
        page = text(marek, f"/objects/{orders}/then?at={then}", 410)
        assert "in the archive" in page and str(archive.upto) in page
    assert "This is the past" in text(marek, f"/objects/{orders}/then?at={archive.upto}")
    role = the("role", "browse").id
    text(marek, f"/roles/{role}/then?at={archive.upto - 1}", 410)


def test_nothing_moves_while_it_is_for_ever(shop: Node, signed_in: Enter) -> None:
    posted(signed_in("marek"), f"/realms/{shop.id}/retention", keep="for-ever", days="")
    assert removal.write(realm(shop), timezone.now()) is None and not Archive.objects.exists()
