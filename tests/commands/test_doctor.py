"""`manage.py doctor`: what is wrong, what to do, and never a secret."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from accounts import people
from authzsite.api import health
from authzsite.management import examination
from policies.services import accounts
from tests.commands.test_commands import Shell
from tests.factories import AUTHORITY, BY

PASSWORD = "very-secret-indeed"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def durable(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server of the tests waited for its disk."""
    monkeypatch.setattr(health, "_SAFE", ["synchronous_commit"])


def examined(shell: Shell, options: str = "") -> tuple[int, dict[str, list[dict[str, str]]]]:
    code, out, _ = shell(f"doctor --json {options}")
    checks: dict[str, list[dict[str, str]]] = {}
    for item in json.loads(out):
        checks.setdefault(item["name"], []).append(item)
    return code, checks


def test_a_site_that_is_well_says_so(durable: None, shell: Shell, settings: Any, redis_url: str) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    people.make_account("sam", password=PASSWORD)
    code, checks = examined(shell)
    assert code == 0
    for name in (
        "database",
        "migrations",
        "durability",
        "database version",
        "database rights",
        "clocks",
        "redis",
        "keys",
        "disk",
        "settings",
        "site admins",
    ):
        assert [item["state"] for item in checks[name]] == ["good"], checks[name]
    assert all(item["advice"] for items in checks.values() for item in items if item["state"] != "good")


def test_a_server_that_can_lose_what_was_acknowledged_is_wrong(db: None, shell: Shell) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW fsync")
        if cursor.fetchone() != ("off",):
            pytest.skip("the server of this run waits for its disk")
    code, checks = examined(shell)
    assert code == 1
    [finding] = checks["durability"]
    assert finding["state"] == "wrong" and "a crash of the server can lose revocations" in finding["text"]
    assert "synchronous_commit" not in finding["text"]  # which the site sets itself


def test_a_public_site_is_told_that_its_user_owns_its_tables(db: None, settings: Any) -> None:
    settings.PUBLIC = True
    [rights] = examination._rights()
    assert rights.state == examination.WARNING and "can alter them" in rights.text
    assert "DATABASE_OWNER_URL" in rights.advice


def test_each_trouble_is_told_with_what_to_do(
    db: None, shell: Shell, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    settings.REDIS_URL = f"redis://:{PASSWORD}@127.0.0.1:1/0"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_HOST_PASSWORD = "127.0.0.1", 1, PASSWORD
    settings.LAKEWARDEN_CHECKPOINTS = (f"file:{tmp_path}/secret_key/notes.txt",)
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    settings.ALLOWED_HOSTS, settings.DEBUG = ["lake.example.org"], True
    settings.VAR = tmp_path
    (tmp_path / "secret_key").write_text(PASSWORD)
    (tmp_path / "secret_key").chmod(0o644)
    accounts.close(people.make_account("sam"), by=BY, authority=AUTHORITY)
    monkeypatch.setattr(examination, "APART", -1.0)
    monkeypatch.setattr(examination, "LEAST_FREE", 10**18)
    monkeypatch.setattr(examination, "OLDEST_DATABASE", 10**9)
    code, checks = examined(shell, "--quiet")
    assert code == 1
    states = {name: items[0]["state"] for name, items in checks.items()}
    expected = {
        "redis": "warning", "mail": "wrong", "checkpoints": "warning", "clocks": "wrong", "disk": "warning",
        "database version": "wrong", "settings": "wrong", "keys": "wrong", "site admins": "warning",
    }  # fmt: skip
    assert expected.items() <= states.items()
    assert "wrong" in [item["state"] for item in checks["checkpoints"]]
    assert all(item["advice"] for items in checks.values() for item in items)
    code, out, err = shell("doctor")
    assert code == 1 and "-> Run chmod 600 on var/secret_key." in out
    assert PASSWORD not in json.dumps(checks) + out + err


@pytest.mark.seed("S4-150")
def test_a_site_without_service_admins_is_told_so(db: None, shell: Shell, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset()
    _, checks = examined(shell)
    [item] = checks["site admins"]
    assert (item["state"], item["text"]) == (
        "warning",
        "there is none, so nobody can create a metalake over /api (gravitino.authorization.serviceAdmins)",
    )
    assert "LAKEWARDEN_SERVICE_ADMINS" in item["advice"]
    assert shell("doctor --strict --quiet")[0] == 1


def test_a_look_that_fails_hides_no_other(db: None, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Any:
        raise RuntimeError(PASSWORD)

    monkeypatch.setitem(examination._BESIDE, "keys", fails)
    code, checks = examined(shell)
    assert (code, checks["keys"][0]["state"]) == (1, "wrong")
    assert checks["settings"]
    assert PASSWORD not in json.dumps(checks)


OPEN = {
    "DATABASE_URL": {"HOST": "db1.example.org,db2.example.org", "OPTIONS": {"sslmode": "require"}},
    "REDIS_URL": "redis://:geheim@redis.example.org:6379/0",
    "EMAIL_URL": "mail.example.org",
    "LAKEWARDEN_TRACES": "http://10.2.3.4:4318/v1/traces",
}
CLOSED = {
    "DATABASE_URL": {"HOST": "db1.example.org", "OPTIONS": {"sslmode": "verify-full"}},
    "REDIS_URL": "rediss://:geheim@redis.example.org:6379/0",
    "EMAIL_URL": "localhost",
    "LAKEWARDEN_TRACES": "http://127.0.0.1:4318/v1/traces",
}


@pytest.mark.parametrize(("given", "names"), [(OPEN, list(OPEN)), (CLOSED, [])])
def test_what_goes_to_other_machines_unencrypted_is_told(
    given: dict[str, Any], names: list[str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES, "default", given["DATABASE_URL"])
    settings.REDIS_URL, settings.LAKEWARDEN_TRACES = given["REDIS_URL"], given["LAKEWARDEN_TRACES"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = given["EMAIL_URL"]
    findings = [finding for finding in examination._transport() if finding.state != "good"]
    assert [finding.text.partition(" ")[0] for finding in findings] == names
    assert all(finding.advice and "geheim" not in str(finding) for finding in findings)


def test_warnings_count_where_that_is_asked_for(durable: None, shell: Shell, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset()
    assert examined(shell)[0] == 0
    assert examined(shell, "--strict")[0] == 1
