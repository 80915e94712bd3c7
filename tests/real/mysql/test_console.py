"""A MySQL behind a catalog of the console: connected, discovered, kept true, foreign grants decided about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import translation

from policies.models import Backend, BackendFinding
from policies.sync import worker
from policies.sync.differences.bypass_words import in_readers_language
from tests.backends.mariadb_world import with_crm
from tests.real.mysql.server import MySQL
from tests.real.mysql.site import MySite
from tests.sync.test_mariadb import (  # noqa: F401 - what holds for both is said once
    governed,
    grant_ana,
    test_a_foreign_grant_is_adopted_without_a_gap,
    test_a_foreign_grant_is_revoked,
    test_a_grant_reaches_the_server_and_a_revoke_takes_it_back,
    test_a_table_that_was_dropped_and_made_again_passes_nothing_on,
    test_the_account_of_the_page_about_sync_can_do_all_of_it,
)


@pytest.fixture
def server(mysql_server: MySQL) -> Iterator[MySite]:
    site = with_crm(MySite(mysql_server))
    yield site
    site.close()


def rows_seen(site: MySite, person: str) -> list[tuple[object, ...]]:
    """Which tables somebody is shown at all."""
    connection = site.server.connect(person)
    with connection.cursor() as cursor:
        cursor.execute("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'crm'")
        tables = list(cursor.fetchall())
    connection.close()
    return tables


@pytest.mark.usefixtures("governed")
def test_what_was_changed_by_hand_is_found_shown_and_repaired(server: MySite) -> None:
    backend = Backend.objects.get()
    grant_ana()
    worker.deliver(backend)
    assert rows_seen(server, "ana") == [("contacts",)]
    [(role,)] = server.do("SELECT DISTINCT FROM_USER FROM mysql.role_edges WHERE TO_USER LIKE 'lw\\_%'")
    server.do(f"GRANT SELECT ON crm.calls TO `{role}`")
    server.do(f"REVOKE SELECT ON crm.contacts FROM `{role}`")
    assert (server.may("ana", "SELECT", "crm", "contacts"), server.may("ana", "SELECT", "crm", "calls")) == (
        False,
        True,
    )
    output = StringIO()
    with pytest.raises(SystemExit):  # as there is something to do
        call_command("sync", "demo/customers", "--dry-run", stdout=output)
    summary = json.loads(output.getvalue())
    assert (summary["missing"], summary["extra"]) == (1, 1)
    call_command("sync", "demo/customers", stdout=(output := StringIO()))
    assert json.loads(output.getvalue())["missing"] == 0
    assert rows_seen(server, "ana") == [("contacts",)]
    assert not server.may("ana", "SELECT", "crm", "calls")


@pytest.mark.usefixtures("governed")
def test_a_proxy_is_shown_as_a_bypass(server: MySite) -> None:
    server.do("GRANT PROXY ON ana TO legacy")
    worker.deliver(Backend.objects.get())
    [finding] = BackendFinding.objects.filter(kind="bypass", holder="legacy")
    assert finding.what == "may act as ana"
    with translation.override("de"):
        assert in_readers_language(finding.what) == "kann als ana handeln"
