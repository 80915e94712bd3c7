"""What is decided becomes true in the database behind, whatever dies meanwhile; nothing foreign is hurt."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.models import Detail
from catalog.queries import find
from lakewarden.backends.errors import Transient
from lakewarden.law.objects import ObjectRef
from policies.models import Backend, BackendFinding, OutboxEntry
from policies.secrets import encrypt
from policies.services import grants, members, realms, roles, seals
from policies.services.grants import GrantRequest
from policies.sync import reconcile, worker
from policies.sync.connections import registration
from tests.factories import AUTHORITY, BY, acting, rewritten, the
from tests.policies.superuser import past_triggers
from tests.sync.conftest import Source, discover_now

ORDERS = "shop.sales.orders"


def grant_ana(**more) -> None:
    grants.add(
        GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",), **more),
        by=acting("olivia"),
    )


def revoke_ana() -> None:
    grants.remove(the("table", ORDERS), [people.ensure("user", "ana")], ["SELECT_TABLE"], by=acting("olivia"))


def readers(source: Source, table: str = "sales.orders") -> set[str]:
    return {name for name in ("olivia", "ana", "mia", "carl", "legacy") if source.reads(name, table)}


def test_discovery_reads_objects_comments_columns_and_what_others_granted(governed: Backend) -> None:
    orders = the("table", ORDERS)
    detail = Detail.objects.get(securable=orders.id)
    assert detail.comment == "One row an order"
    assert [column["name"] for column in detail.columns] == ["id", "item"]
    assert the("view", "shop.sales.top")
    worker.deliver(governed)
    foreign = BackendFinding.objects.filter(kind="foreign", holder="legacy")
    assert {(row.place, row.what) for row in foreign} == {("sales", "USAGE"), ("sales.orders", "SELECT")}
    assert foreign.get(place="sales.orders").securable_id == orders.id


def test_the_database_answers_as_the_law_does(governed: Backend, source: Source) -> None:
    assert worker.deliver(governed).settled
    # Olivia owns it, Mia is an analyst, Carl is one too but denied, legacy was let in by others
    assert readers(source) == {"olivia", "mia", "legacy"}
    assert readers(source, "stock.items") == set()


def test_a_grant_reaches_the_database_and_a_revoke_takes_it_back(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    grant_ana()
    assert not source.reads("ana")
    assert worker.deliver(governed).settled
    assert source.reads("ana")
    revoke_ana()
    assert worker.deliver(governed).settled
    assert not source.reads("ana")
    assert source.reads("legacy")


def test_nothing_due_is_nothing_done(governed: Backend) -> None:
    worker.deliver(governed)
    assert OutboxEntry.objects.count() == 0
    assert worker.deliver(governed) is None


def test_a_grant_that_ends_by_itself_leaves_the_database_when_its_entry_is_due(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.deliver(governed)
    end = timezone.now() + timedelta(hours=1)
    grant_ana(valid_until=end)
    worker.deliver(governed)
    assert source.reads("ana")
    waiting = OutboxEntry.objects.filter(due=end)
    assert waiting.exists()
    assert all(waiting.values_list("revokes", flat=True))
    for moment, readable in ((end - timedelta(seconds=1), True), (end, False)):
        monkeypatch.setattr(timezone, "now", lambda moment=moment: moment)
        worker.deliver(governed)
        assert source.reads("ana") is readable


def test_a_failed_delivery_keeps_its_entries_and_tries_again_later(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.deliver(governed)
    grant_ana()
    monkeypatch.setattr(worker, "reconcile", _away)
    assert worker.deliver(governed) is None
    entries = OutboxEntry.objects.all()
    assert entries
    assert all(
        entry.attempts == 1 and entry.due > timezone.now() and "away" in entry.error for entry in entries
    )
    assert Backend.objects.get().state == Backend.State.BEHIND
    monkeypatch.undo()
    OutboxEntry.objects.update(due=timezone.now())
    assert worker.deliver(governed).settled
    assert source.reads("ana")


def _away(_: Backend, **__: object) -> None:
    raise Transient("the target is away")


def test_a_target_that_is_down_is_a_state_on_the_page_and_loses_nothing(
    governed: Backend, source: Source
) -> None:
    worker.deliver(governed)
    real = governed.sealed_url
    rewritten(Backend.objects.all(), sealed_url=encrypt("postgresql://postgres@127.0.0.1:1/governed"))
    grant_ana()
    worker.deliver(Backend.objects.get())
    assert Backend.objects.get().state == Backend.State.BEHIND
    assert OutboxEntry.objects.exists()
    rewritten(Backend.objects.all(), sealed_url=real)
    OutboxEntry.objects.update(due=timezone.now())
    assert worker.deliver(Backend.objects.get()).settled
    assert source.reads("ana")


class Killed(BaseException):
    """The worker's process is gone at this line."""


STEPS = ("claimed", "observed", "planned", "applied", "read again", "remembered")


@pytest.mark.parametrize("line", STEPS)
def test_a_worker_killed_at_any_line_loses_nothing(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    worker.deliver(governed)
    grant_ana()
    _kill_at(monkeypatch, line)
    with pytest.raises(Killed):
        worker.deliver(governed)
    monkeypatch.undo()
    assert OutboxEntry.objects.exists()
    assert worker.deliver(governed).settled
    assert source.reads("ana")
    assert source.reads("legacy")
    assert not OutboxEntry.objects.exists()


def _kill_at(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    def dies(*_: object, **__: object) -> None:
        raise Killed

    places = {
        "claimed": (worker, "reconcile"),
        "observed": (reconcile.Comparison, "_wanted"),
        "planned": (reconcile.planning, "plan"),
        "applied": (reconcile.Comparison, "report"),
        "read again": (reconcile, "_remember"),
        "remembered": (worker, "_settle"),
    }
    monkeypatch.setattr(*places[line], dies)


def test_a_grant_somebody_takes_away_out_there_comes_back(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    roles_out_there = source.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw%'")
    for (role,) in roles_out_there:
        source.run(f'REVOKE ALL ON sales.orders FROM "{role}"')
    assert not source.reads("mia")
    report = reconcile.reconcile(governed, dry_run=True)
    assert report.missing > 0
    assert reconcile.reconcile(governed).settled
    assert source.reads("mia")


def test_report_mode_changes_nothing_out_there(governed: Backend, source: Source) -> None:
    rewritten(Backend.objects.all(), policy="report")
    report = worker.deliver(Backend.objects.get())
    assert report.missing > 0
    assert readers(source) == {"legacy"}
    assert not OutboxEntry.objects.exists()


def test_leaving_a_group_or_the_realm_takes_the_database_away_too(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    mia, analysts = people.ensure("user", "mia"), people.ensure("group", "analysts")
    members.leave_group(analysts, mia, by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    assert readers(source) == {"olivia", "legacy"}
    members.remove(the("metalake"), people.ensure("user", "olivia"), by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    assert readers(source) == {"legacy"}


def test_lifting_a_denial_returns_a_person_to_the_mirrored_roles(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    roles.unassign(the("role", "no_contractors"), people.ensure("user", "carl"), by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    assert source.reads("carl")


def test_a_table_renamed_at_the_source_keeps_its_facts(governed: Backend, source: Source) -> None:
    before = the("table", ORDERS).id
    grant_ana()
    source.run("ALTER TABLE sales.orders RENAME TO purchases")
    assert discover_now(governed).renamed == 1
    assert the("table", "shop.sales.purchases").id == before
    worker.deliver(governed)
    assert source.reads("ana", "sales.purchases")


def test_a_table_dropped_and_made_again_inherits_nothing(governed: Backend, source: Source) -> None:
    grant_ana()
    worker.deliver(governed)
    before = the("table", ORDERS).id
    source.run("DROP VIEW sales.top; DROP TABLE sales.orders; CREATE TABLE sales.orders (id int)")
    discovery = discover_now(governed)
    assert discovery.vanished == [ORDERS, "shop.sales.top"]
    assert discovery.added == 1
    assert the("table", ORDERS).id != before
    worker.deliver(governed)
    assert not source.reads("ana")


def test_an_unreachable_name_is_no_object() -> None:
    assert find(ObjectRef("table", "demo\0", ("a", "b", "c"))) is None


def test_a_worker_that_was_overtaken_has_the_state_looked_at_once_more(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.deliver(governed)
    grant_ana()
    real = reconcile.reconcile

    def overtaken(row: Backend, **more: Any) -> reconcile.Report:
        report = real(row, **more)
        OutboxEntry.objects.update(lease="another worker")
        monkeypatch.setattr(worker, "reconcile", real)
        return report

    monkeypatch.setattr(worker, "reconcile", overtaken)
    worker.deliver(governed)
    assert source.reads("ana")
    assert not OutboxEntry.objects.exists()


def test_a_look_finds_what_others_did_out_there(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    source.run("GRANT SELECT ON stock.items TO carl")
    assert worker.look(governed).foreign == 3
    assert BackendFinding.objects.filter(kind="foreign", holder="carl", place="stock.items").exists()
    assert source.reads("legacy")


@pytest.mark.parametrize("mode", ["off", "pass-through"])
def test_while_the_law_is_not_enforced_the_database_is_left_as_it_is(
    governed: Backend, source: Source, mode: str
) -> None:
    worker.deliver(governed)
    realms.set_mode(governed.realm, mode, by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    assert readers(source) == {"olivia", "mia", "legacy"}
    assert not OutboxEntry.objects.exists()
    realms.set_mode(governed.realm, "on", by=BY, authority=AUTHORITY)
    assert worker.deliver(governed).settled


@pytest.mark.seed("S4-007")
def test_each_source_has_its_own_state_and_errors(governed: Backend, source: Source) -> None:
    root = the("metalake")
    url = "postgresql://postgres@127.0.0.1:1/nowhere"
    other = registration.connect(root, "away", "postgresql", url, policy="repair", by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    worker.deliver(other)
    states = dict(Backend.objects.values_list("catalog__placements__name", "state"))
    assert states == {"shop": Backend.State.IN_SYNC, "away": Backend.State.BEHIND}
    assert source.reads("mia")


@pytest.mark.seed("S4-008")
def test_the_console_shows_what_the_database_allows_beyond_what_was_decided(
    governed: Backend, client: Client
) -> None:
    worker.deliver(governed)
    client.force_login(people.make_account("olivia"), backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(f"/objects/{the('table', ORDERS).id}/sync").content.decode()
    assert "legacy" in page
    assert "Granted outside" in page


def test_the_command_delivers_what_is_due_and_says_what_it_could_not_read(
    governed: Backend, source: Source, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("sync", "demo/shop")
    assert json.loads(capsys.readouterr().out)["complete"] is True
    assert not OutboxEntry.objects.exists()
    rewritten(Backend.objects.all(), sealed_url=encrypt("postgresql://postgres@127.0.0.1:1/governed"))
    with pytest.raises(SystemExit):
        call_command("sync", "demo/shop")
    output = capsys.readouterr()
    assert json.loads(output.out)["complete"] is False
    assert "connect" in output.err


def test_nothing_is_given_or_taken_by_facts_written_past_the_console(
    governed: Backend, source: Source
) -> None:
    worker.deliver(governed)
    grant_ana()
    before = readers(source)
    past_triggers(
        "INSERT INTO policies_assignment (role_id, holder_id, opened, origin, seal)"
        " SELECT a.role_id, p.id, a.opened, a.origin, a.seal FROM policies_assignment a, accounts_principal p"
        " WHERE p.name = 'mia' OR p.name = 'ana' LIMIT 1"
    )
    assert worker.deliver(governed) is None
    assert readers(source) == before
    governed.refresh_from_db()
    assert "written outside the console" in governed.error
    seals.set_right()
    OutboxEntry.objects.update(due=timezone.now())
    assert worker.deliver(governed).settled
    assert source.reads("ana")
