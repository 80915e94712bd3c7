"""A console that runs on a copy of its database does not give out again what was revoked since."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from accounts import people
from policies import tasks
from policies.models import Backend, DatabaseIdentity, Event
from policies.services import grants, operating
from policies.services.grants import Wish
from policies.sync import restored, worker
from tests.factories import acting, the
from tests.sync.conftest import Source

ORDERS = "shop.sales.orders"


@pytest.fixture
def revoked_since(governed: Backend, source: Source) -> Backend:
    """Ana was granted orders when the copy was made; out there it was revoked since."""
    restored.check()
    wish = Wish(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
    grants.add(wish, by=acting("olivia"))
    assert not source.reads("ana")
    return governed


def put_back() -> None:
    """The row says which database the copy was made of, and that is not this one."""
    DatabaseIdentity.objects.update(identity="7710737858455267068:1:16385")


def test_the_same_database_is_known_again(revoked_since: Backend, source: Source) -> None:
    assert not restored.check()
    tasks.deliver(revoked_since.pk)
    assert source.reads("ana")


@pytest.mark.parametrize("way", ["deliver", "look", "command"])
def test_on_a_copy_nothing_is_given_out_until_somebody_has_seen_the_plan(
    revoked_since: Backend, source: Source, way: str
) -> None:
    put_back()
    if way == "deliver":
        tasks.deliver(revoked_since.pk)
    elif way == "look":
        tasks.look(revoked_since.pk)
    else:
        with pytest.raises(SystemExit):
            call_command("sync", "demo/shop", stdout=StringIO())
    row = Backend.objects.get()
    assert (row.policy, row.restored) == ("report", True)
    assert not source.reads("ana")
    assert Event.objects.filter(kind="backend.policy", data__by="restored").count() == 1
    operating.set_policy(row, "repair", by=acting("marek"), reason="seen")
    worker.look(Backend.objects.get())
    assert source.reads("ana")
    assert not Backend.objects.get().restored


def test_a_dry_run_changes_no_setting(revoked_since: Backend) -> None:
    put_back()
    said = StringIO()
    with pytest.raises(SystemExit):
        call_command("sync", "demo/shop", "--dry-run", stdout=said)
    assert json.loads(said.getvalue())["applied"] == 0
    assert Backend.objects.get().policy == "repair"


def test_an_operator_can_say_so_himself(revoked_since: Backend, source: Source) -> None:
    said = StringIO()
    call_command("restored", stdout=said)
    assert said.getvalue().startswith("1 backends only report")
    tasks.look(revoked_since.pk)
    assert not source.reads("ana")


def test_the_identity_names_server_timeline_and_database(db: None) -> None:
    parts = restored.identity().split(":")
    assert len(parts) == 3
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        assert parts[-1] == str(cursor.fetchone()[0])
