"""The site enters its database as a user who can alter no table; migrations enter as their owner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from authzsite import embedded

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
REFUSED = {
    "alter a table": "ALTER TABLE policies_grant ADD COLUMN more int",
    "drop a table": "DROP TABLE policies_notice",
    "switch triggers off": "ALTER TABLE policies_grant DISABLE TRIGGER USER",
    "replace what a trigger does": "DROP FUNCTION lakewarden_door CASCADE",
    "make a table": "CREATE TABLE more (id int)",
    "empty a table": "TRUNCATE policies_change CASCADE",
    "have a migration applied again": "DELETE FROM django_migrations",
    "say that a migration was applied": "UPDATE django_migrations SET name = 'x'",
    "rewrite the audit log": "UPDATE policies_change SET digest = ''",
    "shorten the audit log": "SET lakewarden.maintenance = 'on'; DELETE FROM policies_change",
    "rewrite an event": "SET lakewarden.maintenance = 'on'; UPDATE policies_event SET data = '{}'",
    "shorten the access log": "SET lakewarden.maintenance = 'on'; DELETE FROM policies_accessrecord",
    "be who owns the tables": "SET ROLE lake_owner",
    "let triggers pass": "SET session_replication_role = replica",
}
MIGRATED = """
import json, sys, django
django.setup()
from io import StringIO
from django.core.management import call_command
from django.db import connection
from authzsite.management import examination
call_command("migrate", verbosity=0)
words = StringIO()
call_command("createtoken", "robo", "--service", stdout=words)
call_command("migrate", verbosity=0)
call_command("facts", set_right=True, stdout=StringIO())
call_command("verify_audit", stdout=words)
with connection.cursor() as cursor:
    cursor.execute("SELECT current_user")
    [user] = cursor.fetchone()
[rights] = examination._rights()
print(json.dumps({"user": user, "words": words.getvalue(), "rights": rights.text}))
"""


def documented() -> list[str]:
    """The statements of docs/deploying.md that make an owner, for another site."""
    page = (ROOT / "docs" / "deploying.md").read_text()
    section = page[page.index("### An owner of the tables") : page.index("## Kubernetes")]
    text = section[section.index("<<END\n") + len("<<END\n") : section.index("\nEND\n")]
    for word, other in {"$owner": "o", "lakewarden_owner": "lake_owner", "lakewarden": "lake_site"}.items():
        text = text.replace(word, other)
    return text.splitlines()


@pytest.fixture(scope="module")
def site(
    postgres_server: Callable[[int], embedded.PostgreSQL], tmp_path_factory: Any
) -> Iterator[dict[str, str]]:
    """What a site says of itself that was migrated by the owner of its tables, and its URL."""
    server = postgres_server(16)
    with psycopg.connect(server.url(), autocommit=True) as superuser:
        superuser.execute("CREATE ROLE lake_site LOGIN PASSWORD 's'")
        superuser.execute("CREATE DATABASE lake_site OWNER lake_site")
        with psycopg.connect(server.url(database="lake_site"), autocommit=True) as inside:
            for statement in documented():
                inside.execute(statement.encode())
        urls = {name: server.url(name, "lake_site", name[5]) for name in ("lake_owner", "lake_site")}
        environment = os.environ | {
            "DATABASE_URL": urls["lake_site"],
            "DATABASE_OWNER_URL": urls["lake_owner"],
            "LAKEWARDEN_VAR": str(tmp_path_factory.mktemp("var")),
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
        }
        done = subprocess.run(
            [sys.executable, "-c", MIGRATED],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        yield json.loads(done.stdout) | {"url": urls["lake_site"], "owner": urls["lake_owner"]}
        superuser.execute("DROP DATABASE lake_site WITH (FORCE)")
        superuser.execute("DROP ROLE lake_site, lake_owner")


def test_a_site_works_as_another_user_than_migrated_it(site: dict[str, str]) -> None:
    assert site["user"] == "lake_site"
    assert "intact: " in site["words"]
    assert site["rights"] == "its user has the rights that the site needs"


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_the_user_of_the_site_may_not(statement: str, site: dict[str, str]) -> None:
    refused = pytest.raises(psycopg.Error, match=r"must be owner|permission denied|must be able to")
    with psycopg.connect(site["url"], autocommit=True) as line, refused:
        for part in statement.split("; "):
            line.execute(part.encode())


def test_all_tables_are_of_the_owner(site: dict[str, str]) -> None:
    with psycopg.connect(site["owner"]) as line:
        rows = line.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        assert rows == [("lake_owner",)]
        line.execute("ALTER TABLE policies_grant ADD COLUMN more int")
