"""What is written past the console into connections and orders is not acted on, and verification names it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.utils import timezone

from lakewarden.backends.errors import Misconfigured
from policies.models import Backend, ForeignOrder, SyncRun
from policies.record.verify import verify
from policies.services import seals
from policies.sync import worker
from policies.sync.actions import foreign_rights, operations
from policies.sync.connections.opening import must_be_ours
from tests.factories import BY, acting, rewritten
from tests.policies.superuser import former, past_triggers
from tests.sync.conftest import Source
from tests.sync.test_foreign_rights import finding

AN_ORDER = (
    'INSERT INTO policies_foreignorder (backend_id, type, path, "right", holder, grantor, replaced, revision,'
    ' at, dropped, attempts, error, error_kind) SELECT b.id, \'table\', \'["shop", "sales", "orders"]\','
    " 'SELECT', 'legacy', 'postgres', false, 3, now(), false, 0, '', '' FROM policies_backend b"
)
FORGED = {
    "set to repair": "UPDATE policies_backend SET policy = 'repair'",
    "agreed to": "UPDATE policies_backend SET awaits = ''",
    "of another place": "UPDATE policies_backend SET sealed_url = sealed_url || 'x', place = 'elsewhere'",
    "every plan let through": "UPDATE policies_backend SET share = 100",
}


@pytest.fixture
def reporting(governed: Backend) -> Backend:
    operations.set_policy(governed, "report", by=BY)
    rewritten(Backend.objects.filter(pk=governed.pk), awaits="new")
    return Backend.objects.get()


@pytest.mark.parametrize("deed", FORGED)
def test_a_connection_changed_past_the_console_is_not_opened(
    deed: str, reporting: Backend, source: Source
) -> None:
    verdict = verify()
    assert verdict, verdict.differing
    past_triggers(FORGED[deed])
    forged = Backend.objects.get()
    worker.deliver(forged)
    assert not source.reads("mia"), "analysts may read, and nothing is given there"
    forged.refresh_from_db()
    assert forged.state == "failed" and "outside the console" in forged.error
    assert any(line.startswith(f"connection {forged.pk}") for line in verify().differing)


def test_writing_to_a_forged_connection_does_not_launder_it(reporting: Backend) -> None:
    past_triggers(FORGED["agreed to"])
    operations.set_policy(Backend.objects.get(), "repair", by=BY)
    assert not Backend.objects.get().is_sealed
    row = Backend.objects.get()
    row.share = 10
    row.save()
    assert not Backend.objects.get().is_sealed
    assert any("connection" in line for line in verify().differing)


def test_an_operator_who_agrees_answers_for_it(reporting: Backend, source: Source) -> None:
    past_triggers(FORGED["set to repair"])
    call_command("agree", "demo/shop", reason="Looked at it, and it is ours")
    operations.set_policy(Backend.objects.get(), "repair", by=BY)
    worker.deliver(Backend.objects.get())
    assert source.reads("mia")
    verdict = verify()
    assert verdict, verdict.differing


def order_forged() -> None:
    past_triggers(AN_ORDER)


def order_edited() -> None:
    foreign_rights.revoke(finding(place="sales", what="USAGE"), by=acting("olivia"), reason="Not used")
    past_triggers(
        "UPDATE policies_foreignorder SET type = 'table', \"right\" = 'SELECT',"
        ' path = \'["shop", "sales", "orders"]\''
    )


def order_opened_again() -> None:
    foreign_rights.revoke(finding(), by=acting("olivia"), reason="Not used")
    rewritten(ForeignOrder.objects.all(), done=timezone.now())
    past_triggers("UPDATE policies_foreignorder SET done = NULL")


@pytest.mark.parametrize("deed", [order_forged, order_edited, order_opened_again])
def test_an_order_that_nobody_gave_takes_nothing(
    deed: Callable[[], None], governed: Backend, source: Source
) -> None:
    worker.deliver(governed)
    assert source.reads("legacy")
    deed()
    worker.deliver(Backend.objects.get())
    assert source.reads("legacy")
    assert any(line.startswith("order ") for line in verify().differing)
    assert any("foreignorder" in line for line in seals.set_right())
    assert not ForeignOrder.objects.exists()


def test_a_new_key_seals_connections_and_orders_anew(governed: Backend, settings: object) -> None:
    worker.deliver(governed)
    foreign_rights.revoke(finding(), by=acting("olivia"), reason="Not used")
    old = settings.LAKEWARDEN_SECRET_KEYS  # type: ignore[attr-defined]
    settings.LAKEWARDEN_SECRET_KEYS = ("a new key of thirty-two letters!!", *old)  # type: ignore[attr-defined]
    assert not seals.seal_what_is_told().wrong
    rows = [*Backend.objects.all(), *ForeignOrder.objects.all()]
    assert all(row.has_newest_seal for row in rows)


def test_a_connection_that_is_put_back_as_it_once_was_is_not_opened(
    governed: Backend, source: Source
) -> None:
    put_back = former(Backend)
    operations.set_policy(governed, "report", by=BY)
    put_back()
    assert Backend.objects.get().is_sealed and Backend.objects.get().policy == "repair"
    worker.deliver(Backend.objects.get())
    assert not source.reads("mia")
    row = Backend.objects.get()
    assert row.state == "failed" and "outside the console" in row.error
    assert any(line.startswith(f"backend {row.pk}") for line in verify().differing)
    operations.set_policy(row, "report", by=BY)
    operations.set_policy(row, "repair", by=BY)
    assert any("two states after one" in line for line in verify().differing)
    call_command("agree", "demo/shop", reason="Looked at it, and it is ours")
    worker.deliver(Backend.objects.get())
    assert source.reads("mia")
    verdict = verify()
    assert verdict, verdict.differing


def test_the_word_that_let_a_plan_through_is_used_up(governed: Backend) -> None:
    row = Backend.objects.get()
    SyncRun.objects.create(backend=row, started=timezone.now(), state="held", digest="d" * 64)
    operations.confirm(row, "d" * 64, by=BY)
    put_back = former(Backend)
    worker.deliver(Backend.objects.get())
    assert Backend.objects.get().confirmed == "" and verify()
    put_back()
    with pytest.raises(Misconfigured):
        must_be_ours(Backend.objects.get())


def test_an_order_that_was_carried_out_is_not_carried_out_again(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    foreign_rights.revoke(finding(), by=acting("olivia"), reason="Not used")
    put_back = former(ForeignOrder)
    worker.deliver(Backend.objects.get())
    assert not source.reads("legacy") and verify()
    source.run("GRANT SELECT ON sales.orders TO legacy")
    put_back()
    assert ForeignOrder.objects.get().is_sealed
    worker.deliver(Backend.objects.get())
    assert source.reads("legacy")
    assert any("foreignorder" in line for line in verify().differing)
    assert any("foreignorder" in line for line in seals.set_right())
