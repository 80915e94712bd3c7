"""Alerts and the dashboard ask for what `/metrics` says, and for nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from policies.models import Backend, BackendFinding, OutboxEntry
from policies.record import verifications
from policies.sync.runs import heartbeat
from tests.api.test_metrics import connected
from tests.api.world import Shop

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
ASKED = re.compile(r"(lakewarden_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)(?:!=|=~|=)"([^"]*)"')


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    panels = json.loads((DEPLOY / "grafana/lakewarden.json").read_text())["panels"]
    yield from (target["expr"] for panel in panels for target in panel["targets"])


def asked() -> set[tuple[str, tuple[str, str] | None]]:
    """Each name with each label that is asked for, and without any where there is none."""
    metrics: set[tuple[str, tuple[str, str] | None]] = set()
    for expression in expressions():
        for name, labels in ASKED.findall(expression):
            metrics |= {(name, (label, value)) for label, value in LABEL.findall(labels)} or {(name, None)}
    return metrics


@pytest.fixture
def busy(shop: Shop) -> None:
    """A site of which every family has a sample."""
    row, ago = connected(shop), timezone.now() - timedelta(minutes=2)
    Backend.objects.update(looked_at=ago, compared_at=ago, proved_at=ago)
    OutboxEntry.objects.create(backend=row, key="p:1", revision=1, due=ago, revokes=True)
    stuck = {"attempts": 3, "error_kind": "rejected", "first_seen": ago, "last_seen": ago}
    BackendFinding.objects.create(backend=row, kind="missing", what="SELECT", **stuck)
    heartbeat.heard(*heartbeat.QUEUES, heartbeat.BEAT)
    verifications.ask_hourly()
    verifications.run_waiting()


def test_what_is_asked_for_is_there(busy: None, client: Client) -> None:
    text = client.get("/metrics").content.decode()
    there: set[tuple[str, tuple[str, str] | None]] = set()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            there |= {(sample.name, None), *((sample.name, label) for label in sample.labels.items())}
    assert asked() - there == set()
    assert len(asked()) > 15


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in rules():
        assert rule["alert"].startswith("Lakewarden")
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_several_web_processes_are_counted_as_one_site() -> None:
    """Each says the same, so none of what they say may be summed over them."""
    for expression in expressions():
        for match in re.finditer(r"lakewarden_", expression):
            before = expression[: match.start()]
            assert re.search(r"(max|min|absent|rate|delta)(?: by \([^)]*\))? ?\($", before) or (
                "unless on (backend)" in before
            ), expression
