"""What a program can learn without credentials: where to ask, and whether the site can answer."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from authzsite.api import health
from policies import tasks
from policies.models import Backend, Heartbeat, OutboxEntry
from tests.api.world import EVALUATION, EVALUATIONS, Shop
from tests.factories import rewritten

CONFIGURATION = "/.well-known/authzen-configuration"
SECURITY_TXT = "/.well-known/security.txt"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_discovery_lists_what_is_offered_under_the_address_asked(
    client: Client, settings: Any, scheme: str
) -> None:
    settings.ALLOWED_HOSTS = ["pdp.example.org"]
    response = client.get(CONFIGURATION, headers={"Host": "pdp.example.org:8443"}, secure=scheme == "https")
    base = f"{scheme}://pdp.example.org:8443"
    assert response.json() == {
        "policy_decision_point": base,
        "access_evaluation_endpoint": base + EVALUATION,
        "access_evaluations_endpoint": base + EVALUATIONS,
        "search_subject_endpoint": f"{base}/access/v1/search/subject",
        "search_resource_endpoint": f"{base}/access/v1/search/resource",
        "search_action_endpoint": f"{base}/access/v1/search/action",
        "access_request_endpoint": f"{base}/access/v1/requests",
        "capabilities": ["urn:openid:authzen:capability:access-request"],
    }


def test_discovery_is_read_only(client: Client) -> None:
    assert client.post(CONFIGURATION).status_code == 405


def test_alive_asks_nothing(client: Client) -> None:
    # without the `db` fixture a query would fail
    response = client.get("/health/live")
    assert (response.status_code, response.content) == (200, b"alive\n")


def ready(client: Client) -> tuple[int, dict[str, str]]:
    response = client.get("/health/ready")
    assert response.headers["Content-Type"].startswith("text/plain")
    lines = response.content.decode().splitlines()
    return response.status_code, dict(line.split(": ", 1) for line in lines)


def test_ready_has_a_line_for_each_dependency(db: None, client: Client, redis_url: str) -> None:
    status, lines = ready(client)
    assert status == 200
    names = [
        "database",
        "migrations",
        "durability",
        "outbox",
        "facts",
        "record",
        "sync",
        "workers",
        "beat",
        "redis",
    ]
    assert list(lines) == names
    others = ("durability", "workers", "beat")  # the server of the tests waits for no disk
    assert all(line.startswith("ok") for name, line in lines.items() if name not in others)


def test_workers_and_beat_are_late_when_they_were_not_heard_of(db: None, client: Client) -> None:
    assert ready(client)[1]["workers"] == "late - no worker has ever reported"
    tasks.alive("urgent")
    assert "work never served" in ready(client)[1]["workers"]
    for queue in ("urgent", "work", "looks"):
        tasks.alive(queue)
    assert ready(client)[1]["workers"].startswith("ok - urgent served 0 s ago")
    assert ready(client)[1]["beat"].startswith("ok")
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=130))
    status, lines = ready(client)
    assert status == 200
    assert lines["workers"].startswith("late - urgent served 130 s ago")
    assert lines["beat"].startswith("late - beat heard of 130 s ago")


def test_the_beat_asks_every_queue_for_a_sign_of_life() -> None:
    asked = [
        item for item in settings.CELERY_BEAT_SCHEDULE.values() if item["task"] == "policies.tasks.alive"
    ]
    assert {item["args"][0] for item in asked} == {item["options"]["queue"] for item in asked}
    assert {item["args"][0] for item in asked} == {queue.name for queue in settings.CELERY_TASK_QUEUES}


def test_the_sync_says_what_is_not_enforced(shop: Shop, client: Client) -> None:
    backend = Backend.objects.create(
        realm_id=shop.realm.realm_id, catalog_id=shop.catalog.id, kind="postgresql", state="silent"
    )
    rewritten(Backend.objects.all(), restored=True)
    due = timezone.now() - timedelta(seconds=90)
    OutboxEntry.objects.create(backend=backend, key="p:1", revision=1, due=due, revokes=True)
    assert ready(client)[1]["sync"] == (
        "late - backends: 1 not answering, 1 only report since the database was restored, "
        "1 revocations overdue in 1"
    )


def test_a_migration_of_a_newer_version_is_told_and_leaves_it_ready(db: None, client: Client) -> None:
    MigrationRecorder(connection).record_applied("policies", "9999_of_tomorrow")
    status, lines = ready(client)
    assert status == 200
    assert lines["migrations"] == "NEWER - a newer version applied 1; restart this process with its code"


def test_a_migration_to_apply_makes_it_unready(db: None, client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="policies").delete()
    status, lines = ready(client)
    assert status == 503
    assert lines["migrations"].startswith("FAILED")


def test_without_redis_it_still_decides(db: None, client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    status, lines = ready(client)
    assert status == 200
    assert lines["redis"].startswith("late - ConnectionError")


ASK = """
import django; django.setup()
from django.test import Client
client = Client(SERVER_NAME="localhost")
response = client.get("/health/ready")
print(response.status_code, response.content.decode(), client.get("/health/live").status_code)
"""


def test_without_its_database_it_says_so_and_no_more(redis_url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://console:s3cret@127.0.0.1:9/lakewarden"}
    environment["DJANGO_SETTINGS_MODULE"] = settings.SETTINGS_MODULE
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    assert "503 database: FAILED - OperationalError\nmigrations: FAILED - not known" in done.stdout
    assert done.stdout.rstrip().endswith(" 200")
    assert "s3cret" not in done.stdout


@pytest.mark.parametrize(("late", "word"), [(timedelta(seconds=5), "ok"), (timedelta(minutes=5), "late")])
def test_what_waits_too_long_is_late(shop: Shop, client: Client, late: timedelta, word: str) -> None:
    backend = Backend.objects.create(
        realm_id=shop.realm.realm_id, catalog_id=shop.catalog.id, kind="postgresql"
    )
    OutboxEntry.objects.create(backend=backend, key="p:1", revision=1, due=timezone.now() - late)
    status, lines = ready(client)
    assert status == 200
    assert lines["outbox"].startswith(f"{word} - 1 wait")


def test_entries_for_later_and_parked_ones_do_not_wait(shop: Shop, client: Client) -> None:
    backend = Backend.objects.create(
        realm_id=shop.realm.realm_id, catalog_id=shop.catalog.id, kind="postgresql"
    )
    past, future = timezone.now() - timedelta(hours=1), timezone.now() + timedelta(hours=1)
    OutboxEntry.objects.create(backend=backend, key="p:1", revision=1, due=future)
    OutboxEntry.objects.create(backend=backend, key="p:2", revision=1, due=past, parked=True)
    assert ready(client)[1]["outbox"] == "ok - nothing waits"


def test_probes_are_read_only(db: None, client: Client) -> None:
    assert client.post("/health/live").status_code == 405
    assert client.post("/health/ready").status_code == 405
    assert timedelta(minutes=10) > health.LATE


@pytest.mark.parametrize("contact", ["mailto:security@example.org", "https://example.org/report"])
def test_everyone_reads_where_vulnerabilities_are_reported(contact: str, settings: Any) -> None:
    """RFC 9116: Contact and Expires stand there once, and it is good for less than a year."""
    settings.LAKEWARDEN_SECURITY_CONTACT, settings.LAKEWARDEN_URL = contact, "https://lake.example.org"
    answer = Client().get(SECURITY_TXT)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    fields = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
    assert fields["Contact"] == contact
    assert fields["Canonical"] == f"https://lake.example.org{SECURITY_TXT}"
    ends = datetime.fromisoformat(fields["Expires"]) - timezone.now()
    assert timedelta(days=30) < ends < timedelta(days=365)


def test_without_a_contact_there_is_no_security_txt() -> None:
    assert Client().get(SECURITY_TXT).status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_wrong_method_on_the_configuration_is_405(method: str) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(CONFIGURATION)
    assert answer.status_code == 405


def test_the_configuration_names_its_request(client: Client) -> None:
    assert client.get(CONFIGURATION, headers={"X-Request-ID": "r-1"})["X-Request-ID"] == "r-1"
    assert not client.get(CONFIGURATION).has_header("X-Request-ID")


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/access/v1/evaluation", "application/json"),
        ("/.well-known/authzen-configuration", "application/json"),
        ("/authz/v1/audit", "application/problem+json"),
        ("/herd-app/rest/currentUser", "application/json"),
        ("/v1/execute/enforce", "text/plain; charset=utf-8"),
        ("/api/metalakes", "application/json"),
        ("/catalog", "text/html; charset=utf-8"),
    ],
)
def test_a_foreign_host_is_refused_in_the_form_of_the_surface(path: str, form: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["lake.example.org"]
    answer = Client().get(path, headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == form
