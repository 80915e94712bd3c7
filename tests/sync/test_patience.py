"""What fails in a way that lasts is shown with its plan, and not tried anew each minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from lakewarden.backends.base import Step
from lakewarden.backends.errors import BackendError, Misconfigured, Transient
from policies.models import Backend, BackendFinding, OutboxEntry, SyncRun
from policies.sync import worker
from policies.sync.actions import operations
from policies.sync.backends.postgresql import kind as postgresql
from tests.factories import a_role, acting, the
from tests.sync.conftest import Source, discover_now

READER = (
    "allow USE_CATALOG on catalog shop",
    "allow USE_SCHEMA on schema shop.sales",
    "allow SELECT_TABLE on table shop.sales.customers",
)


class Stubborn:
    """A database whose owner lets us give nothing, for one reason or another."""

    def __init__(self, give: object) -> None:
        self.give, self.error, self.asked = give, None, 0

    def __call__(self, session: object, step: Step) -> None:
        self.asked += 1
        if self.error:
            raise self.error
        self.give(session, step)  # type: ignore[operator]


@pytest.fixture
def stubborn(governed: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubborn]:
    worker.deliver(governed)
    there = Stubborn(postgresql._OPERATIONS["give"])
    monkeypatch.setitem(postgresql._OPERATIONS, "give", there)
    monkeypatch.setattr(postgresql, "change_rights", there)
    return there


def looked(row: Backend) -> None:
    row.refresh_from_db()
    worker.look(row)


def held_up(row: Backend, there: Stubborn, error: BackendError) -> None:
    """Ana's right to read cannot be given, as two looks after the delivery have seen."""
    there.error = error
    a_role(the("metalake"), "reader", *READER, held_by=("ana",))
    worker.deliver(row)
    looked(row)
    looked(row)


@pytest.mark.parametrize(
    ("error", "again"), [(Misconfigured("not the owner"), False), (Transient("busy"), True)]
)
def test_each_minute_tries_again_what_may_pass_and_only_shows_what_lasts(
    governed: Backend, stubborn: Stubborn, error: BackendError, again: bool
) -> None:
    held_up(governed, stubborn, error)
    asked = stubborn.asked
    for _ in range(2):
        looked(governed)
    assert (stubborn.asked > asked) is again
    governed.refresh_from_db()
    assert (governed.error, governed.state) == (str(error), Backend.State.BEHIND)
    if not again:
        assert SyncRun.objects.order_by("-pk")[0].state == SyncRun.State.SHOWN
        assert SyncRun.objects.order_by("-pk")[0].total  # its steps stand on the page


def test_it_is_tried_again_when_asked_for_within_the_hour_and_after_it_anyway(
    governed: Backend, stubborn: Stubborn, source: Source
) -> None:
    held_up(governed, stubborn, Misconfigured("not the owner"))
    asked = stubborn.asked
    operations.retry(governed, by=acting("marek"))
    worker.deliver(governed)
    assert stubborn.asked > asked
    looked(governed)
    asked = stubborn.asked
    SyncRun.objects.update(ended=timezone.now() - timedelta(hours=2))
    looked(governed)
    assert stubborn.asked > asked
    stubborn.error = None
    operations.retry(governed, by=acting("marek"))
    assert worker.deliver(governed).settled  # type: ignore[union-attr]
    assert source.reads("ana", "sales.customers")
    assert not OutboxEntry.objects.filter(backend=governed, parked=True).exists()


def test_what_somebody_changes_meanwhile_is_repaired_all_the_same(
    governed: Backend, stubborn: Stubborn, source: Source
) -> None:
    held_up(governed, stubborn, Misconfigured("not the owner"))
    [(ours,)] = source.run(
        "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        " WHERE m.member = 'olivia'::regrole AND shobj_description(r.oid, 'pg_authid') IS NOT NULL"
    )
    source.run(f'GRANT SELECT ON stock.items TO "{ours}"')
    has = "SELECT has_table_privilege('olivia', 'stock.items', 'SELECT')"
    assert source.run(has) == [(True,)]
    looked(governed)
    assert source.run(has) == [(False,)]


def test_what_is_left_of_a_role_whose_people_wait_is_no_news(
    governed: Backend, stubborn: Stubborn, source: Source
) -> None:
    """Olivia owns sales; while the next role cannot be filled the last one is kept, and is not extra."""
    source.run("CREATE TABLE sales.boxes (id int PRIMARY KEY)")

    discover_now(governed)
    stubborn.error = Misconfigured("not the owner")
    looked(governed)
    assert source.reads("olivia", "sales.orders")
    findings = BackendFinding.objects.filter(backend=governed, kind="extra").exclude(type="")
    assert not findings.exists(), [(item.holder, item.what, item.place) for item in findings]
    missing = BackendFinding.objects.filter(backend=governed, kind="missing", place="sales.boxes")
    assert missing.exists()
