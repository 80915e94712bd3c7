"""A snapshot of a realm as Parquet: what it holds, that it is one state, what a full disk leaves behind."""

from __future__ import annotations

import errno
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import node
from policies.analytics import uses
from policies.errors import Invalid, NotFound
from policies.events import GRANT_REMOVED, EventDraft
from policies.models import Counter, Grant, Use
from policies.record import columns
from policies.record.change import change
from policies.record.exports import parquet
from policies.services import accounts, grants, members, objects
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, acting, admit, rewritten, the
from tests.policies.conftest import make_shop


@pytest.fixture(autouse=True)
def _state_of_the_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots are read in the test's own transaction, which is undone after it."""
    if "shop" in request.fixturenames:
        monkeypatch.setattr(parquet, "_one_state", nullcontext)


@pytest.fixture
def real_shop(transactional_db: None) -> Node:
    return make_shop()


def revision() -> int:
    return Counter.objects.get().revision


def read(folder: Path, table: str) -> list[dict[str, Any]]:
    return list(pq.read_table(folder / table).to_pylist())


def test_it_holds_the_realm_in_the_words_of_the_law(shop: Node, tmp_path: Path) -> None:
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    uses.take(shop.realm_id, ana, "run", [uses.ReportedUse(ana, orders, "read", True, timezone.now())])
    folder = tmp_path / "input"
    parquet.export(shop, revision(), folder)
    people_of = {row["key"]: row["name"] for row in read(folder, "principals")}
    things = {row["key"]: row for row in read(folder, "objects")}
    assert {row["full_name"] for row in things.values() if row["type"] == "table"} == {
        "shop.sales.orders", "shop.sales.customers", "shop.sales.refunds", "shop.stock.items",
    }  # fmt: skip
    assert things[orders.id]["ancestors"] == list(orders.lineage[:-1])
    assert things[orders.id]["parent"] == orders.lineage[-2]
    roles = {row["key"]: row["name"] for row in read(folder, "roles")}
    rows = {
        (roles[row["role"]], row["effect"], row["privilege"], things[row["object"]]["full_name"])
        for row in read(folder, "grants")
    }
    assert ("sales_read", "allow", "SELECT_TABLE", "shop.sales") in rows
    assert ("no_contractors", "deny", "SELECT_TABLE", "shop.sales") in rows
    held = {(roles[row["role"]], people_of[row["holder"]]) for row in read(folder, "assignments")}
    assert held == {("browse", "staff"), ("sales_read", "analysts"), ("no_contractors", "carl")}
    inside = {(people_of[row["group"]], people_of[row["member"]]) for row in read(folder, "memberships")}
    assert ("analysts", "mia") in inside
    owners = {
        (things[row["object"]]["full_name"], people_of[row["owner"]]) for row in read(folder, "ownerships")
    }
    assert ("shop.sales", "olivia") in owners
    assert {people_of[row["principal"]] for row in read(folder, "members")} >= {"marek", "ana", "staff"}
    [use] = read(folder, "uses")
    assert (use["principal"], use["object"], use["action"], use["executed"]) == (
        ana.pk,
        orders.id,
        "read",
        True,
    )
    [realm] = read(folder, "realm")
    assert (realm["kind"], realm["law"], realm["mode"], realm["revision"]) == (
        "gravitino",
        "gravitino",
        "on",
        revision(),
    )


def test_a_personal_role_tells_whose_it_is(shop: Node, tmp_path: Path) -> None:
    ana = people.ensure("user", "ana")
    grants.add(GrantRequest(the("table", "shop.sales.orders"), (ana,), ("SELECT_TABLE",)), by=acting("marek"))
    parquet.export(shop, revision(), tmp_path / "input")
    roles = {row["name"]: row["holder"] for row in read(tmp_path / "input", "roles")}
    assert roles == {"~ana": ana.pk, "browse": None, "sales_read": None, "no_contractors": None}


def test_who_has_nothing_to_do_with_the_realm_is_not_in_it(shop: Node, tmp_path: Path) -> None:
    stranger = a_person("stranger")
    rewritten(Principal.objects.filter(pk=stranger.pk), display_name="Susan Stranger")
    parquet.export(shop, revision(), tmp_path / "input")
    rows = read(tmp_path / "input", "principals")
    assert set(rows[0]) == {"key", "kind", "name", "able", "service_admin"}
    assert "stranger" not in {row["name"] for row in rows}


def test_who_cannot_come_in_any_more_is_told(shop: Node, tmp_path: Path) -> None:
    """Who never had an account may still be let in; a closed one keeps out, and its groups with it."""
    for name in ("mia", "carl"):
        accounts.close(people.make_account(name), by=BY, authority=AUTHORITY)
    parquet.export(shop, revision(), tmp_path / "input")
    able = {row["name"]: row["able"] for row in read(tmp_path / "input", "principals")}
    assert (able["ana"], able["carl"], able["staff"], able["analysts"]) == (
        True,
        False,
        True,
        False,
    )  # both analysts left


def test_a_past_revision_is_as_it_was(shop: Node, tmp_path: Path) -> None:
    before = revision()
    objects.drop(the("table", "shop.sales.refunds"), by=BY, authority=AUTHORITY)
    admit(shop, "late")
    then = {row["full_name"] for row in read_at(shop, before, tmp_path / "then", "objects")}
    now = {row["full_name"] for row in read_at(shop, revision(), tmp_path / "now", "objects")}
    assert then - now == {"shop.sales.refunds"}
    late = people.ensure("user", "late").pk
    assert late not in {row["principal"] for row in read(tmp_path / "then", "members")}
    assert late in {row["principal"] for row in read(tmp_path / "now", "members")}


def read_at(root: Node, revision: int, folder: Path, table: str) -> list[dict[str, Any]]:
    parquet.export(root, revision, folder)
    return read(folder, table)


def test_a_change_in_the_middle_is_not_seen(
    real_shop: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are written one after the other; somebody granting meanwhile is in none of them."""
    real, written = columns.write, []

    def write(path: Path, *rest: Any) -> Any:
        if path.parent.name == "members":
            in_another_session(others_are_at_work)
            written.append(path)
        return real(path, *rest)

    monkeypatch.setattr(columns, "write", write)
    before = len(read_at(real_shop, revision(), tmp_path / "before", "grants"))
    assert written and before > 0
    monkeypatch.undo()
    assert read_at(real_shop, revision(), tmp_path / "after", "grants") == []


def others_are_at_work() -> None:
    """Somebody comes into a group, and everything that was granted is taken."""
    members.join_group(
        people.ensure("group", "analysts"), people.ensure("user", "olivia"), by=BY, authority=AUTHORITY
    )
    with change(GRANT_REMOVED, realm=None, by=BY) as current:
        for row in Grant.objects.open():
            current.end(row, EventDraft(GRANT_REMOVED), by=AUTHORITY)


def in_another_session(work: Callable[[], None]) -> None:
    from threading import Thread

    from django.db import connection

    def run() -> None:
        work()
        connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()


@pytest.mark.parametrize("wrong", [0, -1, 10_000])
def test_a_revision_that_is_none(shop: Node, tmp_path: Path, wrong: int) -> None:
    with pytest.raises(NotFound, match="There is no revision"):
        parquet.export(shop, wrong, tmp_path / "input")
    assert list(tmp_path.iterdir()) == []


def test_not_inside_another_transaction(db: None, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        parquet.export(make_shop(), revision(), tmp_path / "input")


class TestAgain:
    def test_the_same_is_kept(self, shop: Node, tmp_path: Path) -> None:
        first = parquet.export(shop, revision(), tmp_path / "input")
        made = (tmp_path / "input" / "manifest.json").stat().st_ino
        assert parquet.export(shop, revision(), tmp_path / "input") == first
        assert (tmp_path / "input" / "manifest.json").stat().st_ino == made

    def test_new_uses_make_a_new_one(self, shop: Node, tmp_path: Path) -> None:
        parquet.export(shop, revision(), tmp_path / "input")
        ana, orders = people.ensure("user", "ana"), the("table", "shop.sales.orders")
        uses.take(shop.realm_id, ana, "run", [uses.ReportedUse(ana, orders, "read", True, timezone.now())])
        parquet.export(shop, revision(), tmp_path / "input")
        assert len(read(tmp_path / "input", "uses")) == Use.objects.count() == 1

    def test_it_is_good_until_a_window_begins_or_ends(self, shop: Node, tmp_path: Path) -> None:
        end, ana = timezone.now() + timedelta(days=2), people.ensure("user", "ana")
        wish = GrantRequest(the("table", "shop.sales.orders"), (ana,), ("SELECT_TABLE",), valid_until=end)
        grants.add(wish, by=acting("marek"))
        assert parquet.export(shop, revision(), tmp_path / "input").good_until == end

    def test_an_edited_file_is_written_again(self, shop: Node, tmp_path: Path) -> None:
        parquet.export(shop, revision(), tmp_path / "input")
        path = tmp_path / "input" / "grants" / parquet.PART
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(parquet.NoSnapshot, match="differs from what was written"):
            parquet.check(tmp_path / "input")
        parquet.export(shop, revision(), tmp_path / "input")
        parquet.check(tmp_path / "input")


def test_only_its_owner_may_read_it(shop: Node, tmp_path: Path) -> None:
    parquet.export(shop, revision(), tmp_path / "deep" / "input")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").rglob("*") if path.is_file()}
    folders = [tmp_path / "deep", *(path for path in (tmp_path / "deep").rglob("*") if path.is_dir())]
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Writing a longer file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_what_was_there(shop: Node, tmp_path: Path) -> None:
    first = parquet.export(shop, revision(), tmp_path / "input")
    admit(shop, "late")
    with files_at_most(700), pytest.raises(OSError) as full:
        parquet.export(shop, revision(), tmp_path / "input")
    assert full.value.errno == errno.EFBIG
    assert parquet.check(tmp_path / "input") == first
    assert [path.name for path in tmp_path.iterdir()] == ["input"]
    assert parquet.export(shop, revision(), tmp_path / "input").revision == first.revision + 1


def test_names_are_those_of_the_console(shop: Node, tmp_path: Path) -> None:
    [sales] = objects.register(
        the("catalog", "shop"), [objects.NewObject("schema", "a.b")], by=BY, authority=AUTHORITY
    )
    parquet.export(shop, revision(), tmp_path / "input")
    for row in read(tmp_path / "input", "objects"):
        place = node(row["key"])
        assert place is not None and place.ref.full_name == row["full_name"]
    assert sales.ref.full_name == 'shop."a.b"'
