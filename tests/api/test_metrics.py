"""What Prometheus reads of the sync: what waits, what is parked, how runs ended."""

from __future__ import annotations

import re
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from policies.models import Backend, BackendFinding, OutboxEntry, SyncRun
from policies.sync.connections import registration
from tests.api.world import BY, Shop
from tests.factories import KEPT, rewritten
from tests.metrics import read_metrics

LINE = re.compile(r'lakewarden_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+')


def connected(shop: Shop) -> Backend:
    row = registration.connect(
        shop.realm,
        "shop",
        "postgresql",
        "postgresql://x:sesame@127.0.0.1:1/s",
        policy="repair",
        registered=KEPT,
        **BY,
    )
    OutboxEntry.objects.all().delete()
    return row


def test_what_waits_and_what_is_parked_is_counted_for_each_backend(shop: Shop, client: Client) -> None:
    row, now = connected(shop), timezone.now()
    for parked in (True, False, False):
        OutboxEntry.objects.create(backend=row, key="k", revision=1, due=now, parked=parked, attempts=2)
    SyncRun.objects.create(backend=row, started=now, state="proved", applied=41, total=42)
    forgotten = {"proved": 4, "proved_steps": 9}
    Backend.objects.update(state="behind", counts={"missing": 3}, forgotten=forgotten, rate=50, looked_at=now)
    samples = read_metrics(client)
    expected = {
        f'lakewarden_outbox_due{{backend="{row.pk}"}}': 2,
        f'lakewarden_outbox_parked{{backend="{row.pk}"}}': 1,
        f'lakewarden_outbox_attempts{{backend="{row.pk}"}}': 2,
        f'lakewarden_sync_runs_total{{backend="{row.pk}",state="proved"}}': 5,
        f'lakewarden_sync_steps_total{{backend="{row.pk}",state="proved"}}': 50,
        f'lakewarden_backend_rate{{backend="{row.pk}"}}': 50,
        f'lakewarden_backend_state{{backend="{row.pk}",state="behind"}}': 1,
        f'lakewarden_backend_state{{backend="{row.pk}",state="in_sync"}}': 0,
        f'lakewarden_backend_found{{backend="{row.pk}",what="missing"}}': 3,
        f'lakewarden_backend_policy{{backend="{row.pk}",policy="repair"}}': 1,
        f'lakewarden_backend_restored{{backend="{row.pk}"}}': 0,
        f'lakewarden_backend_mode{{backend="{row.pk}",mode="on"}}': 1,
    }
    assert expected.items() <= samples.items()


def test_what_changes_nothing_and_what_is_overdue_is_a_number(shop: Shop, client: Client) -> None:
    row, long_ago = connected(shop), timezone.now() - timedelta(minutes=2)
    OutboxEntry.objects.create(backend=row, key="p:1", revision=1, due=long_ago, revokes=True)
    OutboxEntry.objects.create(backend=row, key="p:2", revision=1, due=long_ago)
    rewritten(Backend.objects.all(), policy="report", restored=True, state="silent")
    samples = read_metrics(client)
    expected = {
        f'lakewarden_backend_policy{{backend="{row.pk}",policy="report"}}': 1,
        f'lakewarden_backend_restored{{backend="{row.pk}"}}': 1,
        f'lakewarden_backend_state{{backend="{row.pk}",state="silent"}}': 1,
        f'lakewarden_revocations_overdue{{backend="{row.pk}"}}': 1,
    }
    assert expected.items() <= samples.items()


def test_every_line_can_be_read_and_names_nothing(shop: Shop, client: Client) -> None:
    connected(shop)
    response = client.get("/metrics")
    assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    body = response.content.decode()
    lines = [line for line in body.splitlines() if not line.startswith("# ")]
    assert lines
    assert all(LINE.fullmatch(line) for line in lines)
    assert not {"shop", "demo", "sesame", "127.0.0.1"} & set(re.findall(r"[\w.]+", body))
    assert client.post("/metrics").status_code == 405


def test_a_console_without_backends_tells_its_revision(db: None, client: Client) -> None:
    assert "lakewarden_revision" in read_metrics(client)


def test_what_is_stuck_is_counted_apart(shop: Shop, client: Client) -> None:
    row, now = connected(shop), timezone.now()
    BackendFinding.objects.create(
        backend=row,
        kind="missing",
        what="SELECT",
        attempts=3,
        error_kind="rejected",
        first_seen=now,
        last_seen=now,
    )
    assert read_metrics(client)[f'lakewarden_sync_stuck{{backend="{row.pk}"}}'] == 1
