"""From every released version to this one, with data: the record stays whole, every answer the same."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from authzsite import embedded
from tests.upgrades import KEYS

ROOT = Path(__file__).resolve().parents[2]
DUMPS = sorted((ROOT / "tests" / "upgrades").glob("*.sql.gz"))


def version(dump: Path) -> str:
    return dump.name.removesuffix(".sql.gz")


@pytest.fixture
def server(postgres_server: Callable[[int], embedded.PostgreSQL]) -> embedded.PostgreSQL:
    return postgres_server(18)


def restored(server: embedded.PostgreSQL, dump: Path) -> str:
    """The URL of a new database with what the dump holds."""
    name = f"upgrade {version(dump)}"
    with psycopg.connect(server.url(), autocommit=True) as session:
        session.execute(f'CREATE DATABASE "{name}"'.encode())
    url = server.url(database=name)
    command = [
        str(server.programs / "psql"),
        "--quiet",
        "--no-psqlrc",
        "--set=ON_ERROR_STOP=1",
        "--output=/dev/null",
    ]
    subprocess.run([*command, url], input=gzip.decompress(dump.read_bytes()), check=True)
    return url


def today(url: str, var: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.upgrades.today"],
        cwd=ROOT,
        env={
            **os.environ,
            **KEYS,
            "DATABASE_URL": url,
            "LAKEWARDEN_VAR": str(var),
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("dump", DUMPS, ids=version)
def test_a_site_of_an_older_version_is_migrated_and_answers_as_before(
    dump: Path, server: embedded.PostgreSQL, tmp_path: Path
) -> None:
    done = today(restored(server, dump), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["facts"] == "all facts are as the console wrote them"
    assert seen["record"].startswith("intact: ")
    assert seen["decisions"] == json.loads(dump.with_name(f"{version(dump)}.json").read_text())
    assert sum(map(bool, seen["decisions"].values())) > 30  # there is something to compare


def test_every_released_version_left_a_dump() -> None:
    """The topmost version of the changelog is in the making."""
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert {version(dump) for dump in DUMPS} >= set(versions[1:])
    assert all(dump.stat().st_size < 200 * 1024 for dump in DUMPS)
