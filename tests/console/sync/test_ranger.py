"""Ranger through the console's pages: connected by the form, a policy of others decided about, proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from catalog.nodes import Node
from policies.models import Backend, BackendFinding
from policies.sync import worker
from policies.sync.actions import operations
from tests.backends.conftest import ranger_server  # noqa: F401 -- a fixture
from tests.backends.ranger_world import PUSHER, SECRET, RangerSite, item, table
from tests.console.settings.test_owners_and_members import posted
from tests.factories import BY, a_role, a_shop, admit, owned, the
from tests.standins.ranger.process import Plugin, Process

Enter = Callable[[str], Client]


@pytest.fixture
def site(ranger_server: Process) -> Iterator[RangerSite]:  # noqa: F811
    there = RangerSite(ranger_server)
    for name in ("ana", "olivia", "legacy"):
        there.person(name)
    yield there
    there.close()


@pytest.fixture
def root(db: None) -> Node:
    root = a_shop()
    admit(root, "ana", "olivia")
    owned(the("schema", "shop.sales"), "olivia")
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "read", *way, "allow SELECT_TABLE on schema shop.sales", held_by=("ana", "olivia"))
    return root


def form(site: RangerSite) -> dict[str, str]:
    return {
        "kind": "ranger-hive",
        "catalog": "shop",
        "host": "127.0.0.1",
        "port": str(site.server.port),
        "user": PUSHER,
        "password": SECRET,
        "its-service": site.service,
        "its-tls": "no",
        "its-beside": "no",
        "policy": "repair",
        "registered": "keep",
    }


def text(answer: Any) -> str:
    content: str = answer.content.decode()
    return content


def test_from_the_form_to_the_proof(root: Node, site: RangerSite, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{root.id}/connect?kind=ranger-hive"
    asked = text(marek.get(page))
    assert "The name of the service in Ranger" in asked
    Plugin(site.server, site.service).load()
    tried = text(posted(marek, page, **form(site), step="try"))
    assert f"service {site.service} answers" in tried
    assert "hiveServer2 on host1: in force" in tried
    assert not Backend.objects.exists()
    posted(marek, page, **form(site), step="connect")
    row = Backend.objects.get()
    operations.agree(row, by=BY, reason="Marek runs this Ranger", digest=operations.likeness(row))
    worker.now(row)
    site.policy("old", table("stock", "items"), item("select", users=["legacy"]))
    site.policy("wide", {**table("s*", "*")}, item("select", groups=["public"]))
    worker.look(row)

    board = text(marek.get("/sync"))
    finding = BackendFinding.objects.get(kind="foreign", grantor="policy old")
    address = reverse("console:sync_deed", args=[finding.pk, "revoke"])
    assert address in board
    asked = text(marek.get(address))
    assert "policy old" in asked
    done = marek.post(address, {"nonce": "a" * 24, "reason": "not known"}, follow=True)
    assert done.status_code == 200
    worker.deliver(row)
    assert not BackendFinding.objects.filter(kind="foreign", grantor="policy old").exists()
    assert site.policies()["old"]["policyItems"] == []
    page_text = text(marek.get(reverse("console:sync_backend", args=[row.pk])))
    assert "is an administrator of Ranger: may change every policy and role" in page_text
    assert "hiveServer2 on host1: not yet" in page_text
    orders = reverse("console:object", args=[the("table", "shop.sales.orders").id])
    assert "Applied to 2 of 3 people. No login in Ranger for Hive: Marek Malik." in text(
        signed_in("olivia").get(orders)
    ).replace("\n", " ")
