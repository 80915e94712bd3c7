"""A MariaDB server behind a catalog: connected, discovered, kept true, foreign grants decided about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts import people
from lakewarden.backends import kinds, planning
from lakewarden.backends.base import Desired, Right
from policies.errors import Invalid
from policies.models import Backend, BackendFinding
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.actions import foreign_rights
from policies.sync.connections import registration
from policies.sync.connections.destinations import network
from tests.backends.mariadb_world import MariaSite, with_crm
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, acting, admit, owned, the


@pytest.fixture
def server(mariadb_server: Any) -> Iterator[MariaSite]:
    site = with_crm(MariaSite(mariadb_server))
    yield site
    site.close()


@pytest.fixture
def governed(db: None, server: MariaSite) -> Backend:
    root = a_metalake()
    a_person("ana")
    admit(root, "olivia", "ana", "legacy")
    url = server.server.url(server.pusher, "secret")
    kind = url.partition(":")[0]
    call_command("connect", "demo/customers", kind, "--url", url, stdout=StringIO())
    output = StringIO()
    call_command("discover", "demo/customers", stdout=output)
    assert "5 objects, 3 new" in output.getvalue() or "4 objects, 3 new" in output.getvalue()
    assert "1 foreign grants" in output.getvalue()
    owned(the("schema", "customers.crm"), "olivia")
    a_role(root, "browse", "allow USE_CATALOG on catalog customers", held_by=("ana", "legacy", "olivia"))
    return Backend.objects.get()


def grant_ana() -> None:
    wish = GrantRequest(
        the("table", "customers.crm.contacts"), (people.ensure("user", "ana"),), ("SELECT_TABLE",)
    )
    grants.add(wish, by=acting("olivia"))


def test_a_grant_reaches_the_server_and_a_revoke_takes_it_back(governed: Backend, server: MariaSite) -> None:
    grant_ana()
    report = worker.deliver(governed)
    assert report is not None
    assert report.settled
    assert server.may("ana", "SELECT", "crm", "contacts")
    assert not server.may("ana", "SELECT", "crm", "calls")
    contacts = the("table", "customers.crm.contacts")
    grants.remove(contacts, [people.ensure("user", "ana")], ["SELECT_TABLE"], by=acting("olivia"))
    report = worker.deliver(governed)
    assert report is not None
    assert report.settled
    assert not server.may("ana", "SELECT", "crm", "contacts")
    assert server.may("legacy", "SELECT", "crm", "contacts")


def test_a_foreign_grant_is_adopted_without_a_gap(governed: Backend, server: MariaSite) -> None:
    worker.deliver(governed)
    finding = BackendFinding.objects.get(kind="foreign")
    foreign_rights.adopt(finding.pk, by=acting("olivia"))
    worker.deliver(governed)
    assert server.may("legacy", "SELECT", "crm", "contacts")
    assert server.foreign() == set()
    assert not BackendFinding.objects.filter(kind="foreign").exists()


def test_a_foreign_grant_is_revoked(governed: Backend, server: MariaSite) -> None:
    worker.deliver(governed)
    foreign_rights.revoke(BackendFinding.objects.get(kind="foreign").pk, by=acting("olivia"))
    worker.deliver(governed)
    assert not server.may("legacy", "SELECT", "crm", "contacts")


def test_a_table_that_was_dropped_and_made_again_passes_nothing_on(
    governed: Backend, server: MariaSite
) -> None:
    grant_ana()
    worker.deliver(governed)
    server.drop("crm", "contacts")
    server.table("crm", "contacts")
    call_command("discover", "demo/customers", stdout=StringIO())
    worker.deliver(governed)
    assert not server.may("ana", "SELECT", "crm", "contacts")


URLS = [("mariadb", "postgresql://127.0.0.1/x"), ("postgresql", "mariadb://127.0.0.1/")]


@pytest.mark.parametrize(("kind", "url"), URLS)
@pytest.mark.django_db
def test_the_url_must_be_of_its_kind(kind: str, url: str) -> None:
    root = a_metalake()
    with pytest.raises(Invalid, match=f"begins with {kind}://"):
        registration.connect(root, "customers", kind, url, policy="repair", by=BY, authority=AUTHORITY)
    assert not Backend.objects.exists()


def test_the_account_of_the_page_about_sync_can_do_all_of_it(server: MariaSite) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "sync.md").read_text()
    url = server.server.url("lakewarden", "a password of your own")
    kind = kinds.get(url.partition(":")[0])
    block = re.search(rf"### A {kind.label} server.*?```sql\n(.*?)```", page, re.S)
    assert block
    for statement in block[1].strip().splitlines():
        server.do(statement)
    backend = kind.open(url, realm="prod", mark="customers", network=network())
    assert [finding.text for finding in backend.check() if not finding.ok] == []
    rights = frozenset({Right("table", ("crm", "calls"), "SELECT"), Right("schema", ("crm",), "CREATE")})
    desired = Desired({"r": rights}, {"r": frozenset({"ana"})})
    assert [
        item.error for item in backend.apply(planning.plan(desired, backend.observe())) if item.error
    ] == []
    backend.close()
    assert server.may("ana", "SELECT", "crm", "calls")
    server.do("DROP USER lakewarden@'%'")
