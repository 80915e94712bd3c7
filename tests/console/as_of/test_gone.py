"""The past of what is gone, and of what an auditor may not see: no link in the history leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from lakewarden.record import bundle
from policies import signing
from policies.models import AccessRecord
from policies.record import revisions
from policies.services import duties, objects, roles
from tests.factories import AUTHORITY, BY, a_person, the
from tests.policies.test_archiving import moved, top
from tests.policies.test_archiving import shop as old_shop

Enter = Callable[[str], Client]
__all__ = ["old_shop", "top"]  # fixtures
LINK = re.compile(r'href="(/(?:objects|catalog|roles|people|history|sync)[^"]*)"')


def an_auditor(root: Node, signed_in: Enter) -> Client:
    """Ada is in no realm; with the duties to view and export the history of one."""
    client = signed_in("ada")
    for duty in ("view_history", "export_history"):
        duties.give(root, duty, a_person("ada"), by=BY, authority=AUTHORITY)
    return client


@pytest.fixture
def auditor(shop: Node, signed_in: Enter) -> Client:
    return an_auditor(shop, signed_in)


def text(client: Client, address: str) -> str:
    response = client.get(address, follow=True)
    assert response.status_code == 200, address
    return str(response.content.decode())


def test_an_auditor_who_is_no_member_reads_the_past_of_an_object(shop: Node, auditor: Client) -> None:
    orders = the("table", "shop.sales.orders").id
    assert auditor.get(f"/objects/{orders}").headers["Location"] == f"/objects/{orders}/history"
    page = text(auditor, f"/objects/{orders}")
    assert "but not its contents" in page
    assert "Grant access" not in page and f"/objects/{orders}/rules" not in page
    then = text(auditor, f"/objects/{orders}/then?at={revisions.latest().revision}")
    assert "This is the past" in then and ">mia</b>" in then
    assert AccessRecord.objects.filter(kind="looked", operation="access in the past").exists()
    assert not AccessRecord.objects.filter(kind="refused").exists()


def test_no_link_of_the_history_leads_an_auditor_nowhere(shop: Node, auditor: Client) -> None:
    orders, role = the("table", "shop.sales.orders").id, the("role", "sales_read").id
    mia, objects_ = people.ensure("user", "mia").pk, the("schema", "shop.stock")
    objects.drop(objects_, by=BY, authority=AUTHORITY)
    asked, followed = f"at={revisions.latest().revision - 1}", set()
    for address in (
        *(
            "/history",
            "/history/looks",
            "/people",
            f"/history?object={orders}",
            f"/people/{mia}/then?{asked}",
        ),
        *(f"/objects/{orders}/history", f"/objects/{orders}/then?{asked}", f"/roles/{role}/then?{asked}"),
    ):
        links = {link.replace("&amp;", "&") for link in LINK.findall(text(auditor, address))}
        assert links
        for link in sorted(links - followed):
            assert auditor.get(link, follow=True).status_code == 200, (address, link)
        followed |= links
    for page in ("objects", "people", "catalog"):
        assert any(link.startswith(f"/{page}/") for link in followed), page


def test_an_auditor_searches_the_archive(old_shop: Node, signed_in: Enter) -> None:
    moved(old_shop)
    auditor = an_auditor(old_shop, signed_in)
    assert "dropped table shop.sales.refunds" in text(auditor, "/history/archive?realm=demo&q=refunds")


def test_the_duty_gives_no_data_and_nothing_but_the_past(shop: Node, auditor: Client) -> None:
    orders = the("table", "shop.sales.orders").id
    for page in ("access.csv", "rules", "columns", "duties", "grant", "state"):
        assert auditor.get(f"/objects/{orders}/{page}").status_code == 404, page
    assert AccessRecord.objects.filter(kind="refused").exists()


def test_what_was_dropped_keeps_its_past_for_who_may_read_it(
    shop: Node, auditor: Client, signed_in: Enter, tmp_path: Path
) -> None:
    schema, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    before = revisions.latest().revision
    objects.drop(schema, by=BY, authority=AUTHORITY)
    for client in (auditor, signed_in("marek")):
        page = text(client, f"/objects/{orders.id}")
        assert "Gone since" in page and f"/history?revision={before + 1}" in page
        assert "dropped schema shop.sales" in text(client, f"/history?revision={before + 1}")
        assert ">mia</b>" in text(client, f"/objects/{orders.id}/then?at={before}")
        assert "was not there then" in text(client, f"/objects/{orders.id}/then?at={before + 1}")
    answer = auditor.post(f"/objects/{orders.id}/evidence", {"at": str(before)})
    (tmp_path / "e.zip").write_bytes(answer.content)
    assert "user:mia could do: read" in bundle.check(tmp_path / "e.zip", signing.public_key()).lines
    for name in ("mia", "olivia", "zoe"):  # whatever Olivia owned went with it
        assert signed_in(name).get(f"/objects/{orders.id}/then?at={before}").status_code == 404, name


def test_a_role_that_was_deleted_keeps_its_past(shop: Node, auditor: Client) -> None:
    role, before = the("role", "sales_read"), revisions.latest().revision
    roles.delete(role, by=BY, authority=AUTHORITY)
    assert f"/roles/{role.id}/then" in text(auditor, f"/roles/{role.id}")
    assert "read tables" in text(auditor, f"/roles/{role.id}/then?at={before}")
