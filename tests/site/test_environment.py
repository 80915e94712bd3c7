"""A wrong value stops the start with one clear line; a right one arrives typed."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from authzsite import checks, environment

ROOT = Path(__file__).resolve().parents[2]

PUBLIC = {"ALLOWED_HOSTS": "lake.example.org", "SECRET_KEY": "q7Zr-fk2Lp_w9Vx3Bn8Td5Hs1Mg6Yc4Ja0"}
WRONG = {
    "a truth value": ({"DEBUG": "maybe"}, "DEBUG='maybe'"),
    "another database": ({"DATABASE_URL": "mysql://u:geheim@h/db"}, "DATABASE_URL must look like"),
    "no database named": ({"DATABASE_URL": "postgresql://u:geheim@h"}, "DATABASE_URL must look like"),
    "a database parameter": (
        {"DATABASE_URL": "postgresql://h/db?sslmoode=geheim"},
        "DATABASE_URL must look like",
    ),
    "another broker": ({"REDIS_URL": "amqp://u:geheim@h"}, "REDIS_URL must look like"),
    "a broker's port": ({"REDIS_URL": "redis://u:geheim@h:port"}, "REDIS_URL must look like"),
    "an authenticator": ({"LAKEWARDEN_AUTHENTICATORS": "session,magic"}, "'magic' is not one of"),
    "anonymous alone": ({"LAKEWARDEN_AUTHENTICATORS": "session,anonymous"}, "only together with 'simple'"),
    "a key": ({"LAKEWARDEN_SECRET_KEYS": "geheim"}, "key 1 is no Fernet key"),
    "the second key": ({"LAKEWARDEN_SECRET_KEYS": f"{Fernet.generate_key().decode()},geheim"}, "key 2 is no"),
    "a host": ({"ALLOWED_HOSTS": "exa mple.org"}, "ALLOWED_HOSTS: 'exa mple.org'"),
    "a public host without a key": ({"ALLOWED_HOSTS": "lake.example.org"}, "SECRET_KEY must be set"),
    "a short key": ({"ALLOWED_HOSTS": "lake.example.org", "SECRET_KEY": "geheim"}, "too easily guessed"),
    "a short key that is believed still": (
        PUBLIC | {"SECRET_KEY": f"{PUBLIC['SECRET_KEY']},geheim"},
        "too easily guessed",
    ),
    "a key of one letter": ({"ALLOWED_HOSTS": "*", "SECRET_KEY": "k" * 60}, "too easily guessed"),
    "a known key": (
        {"ALLOWED_HOSTS": "*", "SECRET_KEY": "django-insecure-s0mething8long9enough7to6pass"},
        "too easily guessed",
    ),
    "any host without a key": ({"ALLOWED_HOSTS": "*"}, "SECRET_KEY must be set"),
    "a network": ({"LAKEWARDEN_CONNECT_ALLOW": "10.0.0.0/64"}, "neither a host nor a network"),
    "all folders": ({"LAKEWARDEN_CONNECT_ALLOW": "/srv/.."}, "neither a host nor a network"),
    "a realm": ({"LAKEWARDEN_HERD_REALM": "a/b"}, "LAKEWARDEN_HERD_REALM='a/b'"),
    "a Spark master": ({"SPARK_MASTER": "mesos://h"}, "SPARK_MASTER='mesos://h'"),
    "a mail server": ({"EMAIL_URL": "imap://u:geheim@h"}, "EMAIL_URL must look like"),
    "a mail server's port": ({"EMAIL_URL": "smtp://u:geheim@h:port"}, "EMAIL_URL must look like"),
    "a sender": ({"EMAIL_FROM": "nobody"}, "EMAIL_FROM='nobody'"),
    "the site's address": ({"LAKEWARDEN_URL": "https://h/path"}, "LAKEWARDEN_URL='https://h/path'"),
    "a chat by plain http": (
        {"LAKEWARDEN_CHAT_HOOKS": "https://h/1 http://h/geheim"},
        "LAKEWARDEN_CHAT_HOOKS: address 2",
    ),
    "a chat without a secret": (
        {"LAKEWARDEN_CHAT_HOOKS": "https://h/1"},
        "LAKEWARDEN_CHAT_SECRET must be set",
    ),
    "mere names on a public host": (
        PUBLIC | {"LAKEWARDEN_AUTHENTICATORS": "session,token,simple"},
        "LAKEWARDEN_AUTHENTICATORS has simple",
    ),
    "debugging on a public host": (PUBLIC | {"DEBUG": "1"}, "DEBUG=1"),
    "any host": (PUBLIC | {"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS=*"),
    "a proxy": ({"LAKEWARDEN_PROXY_ADDRESSES": "10.0.0.1,proxy"}, "'proxy' is neither an address nor"),
    "a proxy nowhere": (
        {"LAKEWARDEN_AUTHENTICATORS": "session,proxy"},
        "LAKEWARDEN_PROXY_ADDRESSES must say where it is",
    ),
    "a proxy anywhere": (
        {"LAKEWARDEN_AUTHENTICATORS": "session,proxy", "LAKEWARDEN_PROXY_ADDRESSES": "10.0.0.1,::/0"},
        "::/0 is everybody",
    ),
    "a proxy's header": ({"LAKEWARDEN_PROXY_USER_HEADER": "X_User"}, "LAKEWARDEN_PROXY_USER_HEADER='X_User'"),
    "a proxy's way out": ({"LAKEWARDEN_PROXY_SIGN_OUT": "//evil"}, "LAKEWARDEN_PROXY_SIGN_OUT='//evil'"),
    "no provider": ({"LAKEWARDEN_AUTHENTICATORS": "session,oidc"}, "must name a provider"),
    "a provider's address": (
        {"LAKEWARDEN_OIDC_KC_ISSUER": "http://login.example.org", "LAKEWARDEN_OIDC_KC_CLIENT_ID": "lake"},
        "LAKEWARDEN_OIDC_KC_ISSUER must be the provider's address",
    ),
    "a provider's unknown variable": (
        {"LAKEWARDEN_OIDC_KC_SECRET": "geheim"},
        "LAKEWARDEN_OIDC_KC_SECRET is not",
    ),
    "half a provider": (
        {"LAKEWARDEN_OIDC_KC_ISSUER": "https://h"},
        "LAKEWARDEN_OIDC_KC_CLIENT_ID must be set",
    ),
    "an owner of nothing": (
        {"DATABASE_OWNER_URL": "postgresql://o@h/x"},
        "DATABASE_OWNER_URL needs DATABASE_URL",
    ),
    "an owner of another database": (
        {"DATABASE_URL": "postgresql://s@h/x", "DATABASE_OWNER_URL": "postgresql://o@h/y"},
        "DATABASE_OWNER_URL leads to another database",
    ),
    "an owner who is the site": (
        {"DATABASE_URL": "postgresql://s@h/x", "DATABASE_OWNER_URL": "postgresql://s@h/x"},
        "must name two users",
    ),
    "a contact": ({"LAKEWARDEN_SECURITY_CONTACT": "ask sam"}, "LAKEWARDEN_SECURITY_CONTACT='ask sam' is not"),
    "a folder": ({"LAKEWARDEN_VAR": "/proc/nowhere"}, "cannot use /proc/nowhere"),
}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKEWARDEN_VAR", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize(("given", "line"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_refused(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: dict[str, str], line: str
) -> None:
    for name, value in given.items():
        bare.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        environment.read_or_exit()
    errors = capsys.readouterr().err
    assert ended.value.code == 2
    assert line in errors
    assert errors.count("\n") == 1
    assert "geheim" not in errors


def test_the_command_line_ends_with_that_line_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | {"DEBUG": "perhaps", "LAKEWARDEN_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lakewarden: DEBUG='perhaps' is not understood; use 0 or 1\n"


def test_secrets_are_made_once_and_for_us_alone(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = environment.read(), environment.read()
    assert (first.secret_key, first.secret_keys) == (second.secret_key, second.secret_keys)
    assert len(first.secret_key) > 50
    assert {place.stat().st_mode & 0o777 for place in tmp_path.iterdir()} == {0o600}


SHOWN = """
import django
django.setup()
from django.conf import settings
from django.views.debug import get_default_exception_reporter_filter
print(settings.ENVIRONMENT, get_default_exception_reporter_filter().get_safe_settings())
"""


def test_a_page_for_developers_shows_no_secret(tmp_path: Path) -> None:
    key = base64.urlsafe_b64encode(b"geheim" * 5 + b"00").decode()
    secrets = {
        "SECRET_KEY": "geheim-q7Zr-fk2Lp_w9Vx3Bn8Td5Hs1Mg6Yc4Ja0",
        "DATABASE_URL": "postgresql://u:geheim@127.0.0.1/x",
        "DATABASE_REPLICA_URL": "postgresql://u:geheim@127.0.0.2/x",
        "DATABASE_OWNER_URL": "postgresql://o:geheim@127.0.0.1/x",
        "REDIS_URL": "redis://:geheim@127.0.0.1:6379/0",
        "EMAIL_URL": "smtp://u:geheim@127.0.0.1:25",
        "LAKEWARDEN_SECRET_KEYS": key,
        "LAKEWARDEN_SIGNING_KEYS": base64.b64encode(b"geheim" * 5 + b"00").decode(),
        "LAKEWARDEN_CHAT_SECRET": "geheim" * 8,
        "LAKEWARDEN_AUDIT_FEED_SECRET": "geheim" * 8,
        "LAKEWARDEN_OIDC_X_ISSUER": "https://id.example.com",
        "LAKEWARDEN_OIDC_X_CLIENT_ID": "lakewarden",
        "LAKEWARDEN_OIDC_X_CLIENT_SECRET": "geheim",
    }
    variables = {"DJANGO_SETTINGS_MODULE": "authzsite.settings", "LAKEWARDEN_VAR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SHOWN],
        cwd=ROOT,
        env=os.environ | variables | secrets,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'LAKEWARDEN_OIDC'" in done.stdout
    for secret in (
        "geheim",
        *(secrets[name] for name in ("LAKEWARDEN_SECRET_KEYS", "LAKEWARDEN_SIGNING_KEYS")),
    ):
        assert done.stdout.count(secret) == 0, done.stdout[done.stdout.index(secret) - 200 :][:260]


def test_a_public_host_starts_with_a_key(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("ALLOWED_HOSTS", "lake.example.org,localhost")
    bare.setenv("SECRET_KEY", "q7Zr-fk2Lp_w9Vx3Bn8Td5Hs1Mg6Yc4Ja0")
    assert environment.read().public


@pytest.mark.parametrize(
    "given",
    [
        {"LAKEWARDEN_AUTHENTICATORS": "session,token,simple,anonymous"},
        {"DEBUG": "1"},
        {"ALLOWED_HOSTS": "*"},
    ],
)
def test_what_lets_strangers_in_starts_where_it_is_meant(
    bare: pytest.MonkeyPatch, settings: Any, given: dict[str, str]
) -> None:
    for name, value in (PUBLIC | given | {"LAKEWARDEN_INSECURE": "1"}).items():
        bare.setenv(name, value)
    settings_ = environment.read()
    settings.LAKEWARDEN_AUTHENTICATORS, settings.DEBUG = settings_.authenticators, settings_.debug
    settings.ALLOWED_HOSTS, settings.LAKEWARDEN_INSECURE = list(settings_.allowed_hosts), False
    assert [danger.id for danger in checks.no_dangers()] == ["lakewarden.E001"]
    settings.LAKEWARDEN_INSECURE = True
    assert checks.no_dangers() == []


def test_loopback_is_not_public(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("ALLOWED_HOSTS", "localhost,127.0.0.1,127.8.9.1,[::1],lake.localhost")
    assert not environment.read().public


def test_a_database_url_is_taken_apart(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("DATABASE_URL", "postgresql://me:p%40ss@db:5433/lake?sslmode=require")
    assert environment.read().database == {
        "host": "db",
        "port": "5433",
        "user": "me",
        "password": "p@ss",
        "dbname": "lake",
        "sslmode": "require",
    }


def test_connections_reach_loopback_unless_told(bare: pytest.MonkeyPatch) -> None:
    assert environment.read().connect_allow == ("localhost", "127.0.0.0/8", "::1/128")
    bare.setenv("LAKEWARDEN_CONNECT_ALLOW", "db.example.org, 10.1.0.0/16, /srv/lake")
    assert environment.read().connect_allow == ("db.example.org", "10.1.0.0/16", "/srv/lake")


@pytest.mark.seed("S4-149")
def test_service_admins_are_named_with_commas_and_any_spaces(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("LAKEWARDEN_SERVICE_ADMINS", "root , ops")
    assert set(environment.read().service_admins) == {"root", "ops"}
