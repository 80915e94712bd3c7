"""Backup and restore as the operator's page says, line by line, with changes made meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from authzsite import embedded
from tests.conftest import VAR, missing

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "backup.md").read_text()


class Site:
    """A console of its own: a server with an empty database, a `var`, and commands in a shell."""

    def __init__(self, folder: Path, server: embedded.PostgreSQL):
        self.folder, self.server = folder, server
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "LAKEWARDEN_VAR": str(folder / "var"),
            "DATABASE_URL": self.database("first"),
            "NEW_URL": self.database("second"),
            "PATH": f"{server.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }

    def database(self, name: str) -> str:
        with psycopg.connect(self.server.url(), autocommit=True) as session:
            session.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        return self.server.url(database=name)

    def run(self, text: str, code: int = 0, **more: str) -> str:
        """What the lines print, which must end with that status."""
        script = text.replace("python manage.py", f"python {ROOT}/manage.py")
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=self.folder,
            env=self.environment | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    # not below tmp_path, which the server's own user may not enter
    home = (VAR / f"backup-{os.getpid()}").resolve()
    server = embedded.PostgreSQL(home, durable=False)
    server.start()
    yield Site(tmp_path, server)
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


def block(heading: str, number: int = 0) -> str:
    section = re.search(rf"## {heading}\n(.*?)\n##", PAGE, re.S)
    assert section
    return str(re.findall(r"```sh\n(.*?)```", section[1], re.S)[number])


def encrypted_and_back(site: Site) -> None:
    if not shutil.which("gpg"):
        missing("gpg", "gpg")
    with tempfile.TemporaryDirectory() as home:  # a short path, as gpg's agent listens in it
        more = {"GNUPGHOME": home, "BACKUP_KEY": "backup@example.org"}
        quiet = "gpg --batch --pinentry-mode loopback --passphrase ''"
        site.run(f"{quiet} --quick-generate-key $BACKUP_KEY default default never", **more)
        site.run(block("Back up", 1), **more)
        assert not (site.folder / "lakewarden.dump").exists()
        back = "--decrypt --output lakewarden.dump lakewarden.dump.gpg"
        assert f"gpg {back}" in PAGE
        site.run(f"{quiet} {back}; gpgconf --kill gpg-agent", **more)


@pytest.mark.slow
def test_a_backup_is_put_back_as_the_page_says_and_the_record_is_whole_again(site: Site) -> None:
    site.run("python manage.py migrate; python manage.py createrealm gravitino prod --owner marek")
    site.run(block("Back up"))
    assert {"lakewarden.dump", "lakewarden-keys.tar", "lakewarden-archive.tar"} <= {
        item.name for item in site.folder.iterdir()
    }
    encrypted_and_back(site)
    site.run("python manage.py addmember prod user:ana user:mia; python manage.py checkpoint")
    restored = site.run(block("Restore"))
    end = re.search(r"manage.py restored --accept-end (\d+) --reason", restored)
    assert end, restored
    moved = {"DATABASE_URL": site.environment["NEW_URL"]}
    assert "its end was cut off" in site.run("python manage.py verify_audit", code=1, **moved)
    accepted = block("Restore", 1)
    assert "--accept-end 48211" in accepted  # as the page says, it stands for the last revision of the copy
    process = site.run(accepted.replace("48211", end[1]), **moved)
    assert "intact: " in process and process.count("The disk broke; the copy of last night was restored") >= 2
    site.run("python manage.py addmember prod user:ana", **moved)
    assert "lost: revisions" in site.run("python manage.py verify_audit", **moved)
