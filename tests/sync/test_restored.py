"""A console that runs on a copy of its database does not give out again what was revoked since."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts import people
from policies import tasks
from policies.models import Backend, DatabaseIdentity, Event, Notice, OutboxEntry
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.actions import operations
from policies.sync.safeguards import restored
from tests.factories import acting, owned, the
from tests.sync.conftest import Source, make_governed

ORDERS = "shop.sales.orders"


@pytest.fixture
def revoked_since(governed: Backend, source: Source) -> Backend:
    """Ana was granted orders when the copy was made; in the backend it was revoked since."""
    restored.check()
    wish = GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
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
    operations.set_policy(row, "repair", by=acting("marek"), reason="seen")
    worker.look(Backend.objects.get())
    assert source.reads("ana")
    assert not Backend.objects.get().restored


def test_a_dry_run_changes_no_setting(revoked_since: Backend) -> None:
    put_back()
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command("sync", "demo/shop", "--dry-run", stdout=output)
    assert json.loads(output.getvalue())["applied"] == 0
    assert Backend.objects.get().policy == "repair"


def test_an_operator_can_say_so(revoked_since: Backend, source: Source) -> None:
    output = StringIO()
    call_command("restored", stdout=output)
    assert output.getvalue().startswith("1 backends only report")
    tasks.look(revoked_since.pk)
    assert not source.reads("ana")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_connection_lost_while_asking_says_nothing_about_where_the_database_came_from(
    source: Source, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    row = make_governed(source)
    assert not restored.check()
    known = DatabaseIdentity.objects.get().identity
    cut = list(restored.PARTS)
    cut[part] = "SELECT pg_terminate_backend(pg_backend_pid())"
    monkeypatch.setattr(restored, "PARTS", cut)
    with pytest.raises(OperationalError):
        tasks.deliver(row.pk)
    connection.close()
    assert DatabaseIdentity.objects.get().identity == known
    assert (Backend.objects.get().policy, Backend.objects.get().restored) == ("repair", False)


def test_what_the_server_refuses_to_tell_is_unknown_and_learned_later(
    revoked_since: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, denied = DatabaseIdentity.objects.get().identity, list(restored.PARTS)
    denied[0] = "SELECT rolpassword FROM pg_authid LIMIT 1"
    monkeypatch.setattr(restored, "PARTS", denied)
    seen = restored.identity()
    assert seen.split(":") == ["?", *whole.split(":")[1:]]
    for known in (seen, seen.split(":")[2], "1:16385"):  # the last two as former versions wrote them
        DatabaseIdentity.objects.update(identity=known)
        monkeypatch.undo()
        assert not restored.check()
        assert DatabaseIdentity.objects.get().identity == whole
    DatabaseIdentity.objects.update(identity=whole)
    monkeypatch.setattr(restored, "PARTS", ["SELECT '?'", *restored.PARTS[1:]])
    assert not restored.check()
    assert DatabaseIdentity.objects.get().identity == whole


def test_there_is_one_row_for_one_database(db: None) -> None:
    restored.check()
    with pytest.raises(IntegrityError), transaction.atomic():
        DatabaseIdentity.objects.create(pk=2, identity="a copy", since=timezone.now())
    assert not restored.check()
    assert DatabaseIdentity.objects.count() == 1


def test_whoever_answers_for_it_is_told_at_once_and_home_shows_it(
    revoked_since: Backend, client: Client
) -> None:
    owned(the("catalog", "shop"), "olivia")
    client.force_login(people.make_account("olivia"), backend="django.contrib.auth.backends.ModelBackend")
    put_back()
    tasks.look(revoked_since.pk)
    mine = Notice.objects.filter(kind="sync.restored", recipient__name="olivia")
    assert mine.get().done is None
    assert mine.get().how == "mail"
    assert "changes nothing until its plan is reviewed" in client.get("/").content.decode()
    assert "Changes nothing" in client.get(f"/sync/{revoked_since.pk}").content.decode()
    operations.set_policy(Backend.objects.get(), "repair", by=acting("marek"), reason="seen")
    tasks.deliver(revoked_since.pk)
    assert mine.get().done is not None


def test_what_is_decided_meanwhile_stays_due_and_does_not_pile_up(
    revoked_since: Backend, source: Source
) -> None:
    put_back()
    tasks.deliver(revoked_since.pk)
    ana, orders = people.ensure("user", "ana"), the("table", ORDERS)
    for _ in range(3):
        grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia"))
        grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=acting("olivia"))
        tasks.deliver(revoked_since.pk)
        OutboxEntry.objects.update(due=timezone.now())
    kept = OutboxEntry.objects.values_list("key", "revokes")
    assert kept
    assert len(kept) == len(set(kept))
    assert all(OutboxEntry.objects.values_list("since", flat=True))
    operations.set_policy(Backend.objects.get(), "repair", by=acting("marek"), reason="seen")
    tasks.deliver(revoked_since.pk)
    assert source.reads("ana")
    assert not OutboxEntry.objects.exists()


def test_the_identity_names_server_timeline_and_database(db: None) -> None:
    parts = restored.identity().split(":")
    assert len(parts) == 3
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        assert parts[-1] == str(cursor.fetchone()[0])
