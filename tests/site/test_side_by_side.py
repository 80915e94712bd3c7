"""An upgrade without a pause: processes of a released version and of today on one database."""

from __future__ import annotations

import gzip
import http.client
import io
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from authzsite import embedded
from authzsite.runtime import processes
from tests.conftest import VAR
from tests.ports import free_port
from tests.standins.faults import Proxy
from tests.upgrades import COMMITS, KEYS
from tests.waiting import until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PEOPLE = ("ana", "mia", "noah", "tomas")
CHANGES = 12
"""Of each person, in each part of the upgrade."""
TROUBLE = re.compile("Internal Server Error|OperationalError|(outside|past) the console")
"""In what processes log."""
READ = """
SELECT has_schema_privilege(%(who)s, 'sales', 'USAGE')
       AND has_table_privilege(%(who)s, 'sales.orders', 'SELECT')
"""


def checkout(version: str, folder: Path) -> Path:
    """The code of a released version; skips where this clone does not reach back so far."""
    got = subprocess.run(["git", "archive", COMMITS[version]], cwd=ROOT, capture_output=True, check=False)
    if got.returncode:
        pytest.skip(f"this clone lacks commit {COMMITS[version]}; git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(got.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


class Upgrade:
    """A site of an older version with data and a governed database; processes of both versions."""

    def __init__(self, folder: Path, home: Path, version: str) -> None:
        self.old, self.folder = checkout(version, folder / "old"), folder
        self.database = embedded.PostgreSQL(home / "console", durable=False)
        self.governed = embedded.PostgreSQL(home / "governed", version=16, passwords=True, durable=False)
        self.redis = embedded.Redis(home / "redis")
        for server in (self.database, self.governed, self.redis):
            server.start()
        self.line = Proxy(str(self.governed.socket))
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            **os.environ,
            **KEYS,
            "DATABASE_URL": self.database.url(),
            "REDIS_URL": self.redis.url,
            "LAKEWARDEN_VAR": str(folder / "var"),
            "LAKEWARDEN_CONNECT_ALLOW": "127.0.0.1",
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "SECRET_KEY": "of both versions, as a site has one: " + "k" * 30,
        }
        dump = gzip.decompress((ROOT / "tests" / "upgrades" / f"{version}.sql.gz").read_bytes())
        psql = [str(self.database.programs / "psql"), "--quiet", "--no-psqlrc", "--output=/dev/null"]
        subprocess.run([*psql, self.database.url()], input=dump, check=True)

    def manage(self, tree: Path, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=tree,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout.strip()

    def begin(self) -> None:
        """What the old version is asked for before anybody thinks of an upgrade."""
        with psycopg.connect(self.governed.url(), autocommit=True) as session:
            session.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders (id int)")
            for person in PEOPLE:
                session.execute(f"CREATE ROLE {person} LOGIN")  # type: ignore[arg-type]
        place = self.governed.url().partition("?")[0].replace("@/", f"@127.0.0.1:{self.line.port}/")
        self.manage(self.old, "createrealm", "gravitino", "lake", "--owner", "marek")
        self.manage(self.old, "connect", "lake/shop", "postgresql", "--url", place)
        self.manage(self.old, "discover", "lake/shop")
        self.manage(self.old, "addmember", "lake", "service:upgrades", *(f"user:{name}" for name in PEOPLE))
        self.owner = self.manage(self.old, "createtoken", "marek")
        self.asker = self.manage(self.old, "createtoken", "upgrades", "--service")

    def start(self, tree: Path, port: int) -> None:
        for name, command in processes._commands(port).items():
            words = [word.replace("@%h", f"{port}@%h") for word in command]
            with (self.folder / f"{port}.log").open("a") as log:
                self.running[f"{name} {port}"] = subprocess.Popen(
                    words, cwd=tree, env=self.environment, stdout=log, stderr=log, start_new_session=True
                )

        def answers() -> bool:
            with suppress(OSError, http.client.HTTPException):
                return self.call(port, "GET", "/health/live")[0] == 200
            return False

        until(answers, lambda: (self.folder / f"{port}.log").read_text())

    def stop(self, port: int, *names: str) -> None:
        """In turn, as a service manager does; what does not end by itself is killed."""
        for name in names or ("beat", "worker", "urgent", "web"):
            process = self.running.pop(f"{name} {port}")
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)

    def call(self, port: int, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            line.request(
                method,
                path,
                None if body is None else json.dumps(body),
                {**headers, "Content-Type": "application/json"},
            )
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()

    def proved(self) -> int:
        """How often a worker read the governed database back and found it equal."""
        with psycopg.connect(self.database.url(), autocommit=True) as session:
            row = session.execute("SELECT count(*) FROM policies_syncrun WHERE state = 'proved'").fetchone()
        return int(row[0]) if row else 0

    def end(self) -> None:
        for process in self.running.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        self.line.__exit__()
        for server in (self.redis, self.governed, self.database):
            server.stop()


@pytest.fixture(params=sorted(COMMITS))
def upgrade(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Upgrade]:
    # not below tmp_path, which the servers' own user may not enter
    home = (VAR / f"upgrade-{os.getpid()}").resolve()
    site = Upgrade(tmp_path, home, request.param)
    try:
        yield site
    finally:
        site.end()
        shutil.rmtree(home, ignore_errors=True)


class Load:
    """For each person a program that grants and revokes at any of the web servers, and then asks them all."""

    def __init__(self, site: Upgrade, *ports: int) -> None:
        self.site, self.ports = site, list(ports)
        self.acknowledged = dict.fromkeys(PEOPLE, False)
        self.changes, self.again = dict.fromkeys(PEOPLE, 0), 0
        self.wrong: list[str] = []
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(person,)) for person in PEOPLE]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def await_more(self, many: int = CHANGES) -> None:
        before = dict(self.changes)
        until(lambda: bool(self.wrong) or all(self.changes[who] >= before[who] + many for who in PEOPLE))

    def leave(self, port: int) -> None:
        """Ask that server nothing any more."""
        self.ports = [other for other in self.ports if other != port]
        self.await_more(1)

    def _run(self, person: str) -> None:
        chance = random.Random(person)
        for value in itertools.cycle((True, False)):
            if self._stopped.is_set():
                return
            self._change(person, value, chance)
            for port in self.ports:
                self._ask(port, person, value)

    def _change(self, person: str, value: bool, chance: random.Random) -> None:
        path = f"/api/metalakes/lake/permissions/users/{person}/{'grant' if value else 'revoke'}"
        while True:
            port = chance.choice(self.ports)
            status, text = self.site.call(port, "PUT", path, {"roleNames": ["reading"]}, self.site.owner)
            if status == 200:
                self.acknowledged[person] = value
                self.changes[person] += 1
                return
            if status != 503:
                self.wrong.append(f"{person} {value} by {port}: {status} {text}")
                return
            self.again += 1

    def _ask(self, port: int, person: str, value: bool) -> None:
        question = {
            "subject": {"type": "user", "id": person},
            "action": {"name": "read"},
            "resource": {"type": "table", "id": "lake/shop.sales.orders"},
        }
        status, text = self.site.call(port, "POST", "/access/v1/evaluation", question, self.site.asker)
        if status == 503:
            self.again += 1
        elif status != 200 or json.loads(text)["decision"] != value:
            self.wrong.append(f"{person} by {port}, where {value} had been acknowledged: {status} {text}")


def in_the_catalog(site: Upgrade) -> dict[str, bool]:
    with psycopg.connect(site.governed.url(), autocommit=True) as session:
        rows = {person: session.execute(READ, {"who": person}).fetchone() for person in PEOPLE}
    return {person: bool(row and row[0]) for person, row in rows.items()}


def test_old_and_new_processes_serve_one_site_while_it_is_upgraded(upgrade: Upgrade) -> None:
    upgrade.begin()
    old, new = free_port(), free_port()
    upgrade.start(upgrade.old, old)
    base = "/api/metalakes/lake"
    role = {
        "name": "reading",
        "properties": {},
        "securableObjects": [
            {"fullName": name, "type": type_, "privileges": [{"name": privilege, "condition": "ALLOW"}]}
            for name, type_, privilege in (
                ("shop", "CATALOG", "USE_CATALOG"),
                ("shop.sales", "SCHEMA", "USE_SCHEMA"),
                ("shop.sales.orders", "TABLE", "SELECT_TABLE"),
            )
        ],
    }
    status, text = upgrade.call(old, "POST", f"{base}/roles", role, upgrade.owner)
    assert status == 200, text
    load = Load(upgrade, old)
    load.start()
    try:
        load.await_more()
        upgrade.manage(ROOT, "migrate", "--verbosity=0")  # under load
        load.await_more()
        # the old version's workers still carry it out
        before = upgrade.proved()
        until(lambda: upgrade.proved() > before + 1)
        # what the old version would write without a seal of today is not written
        status, text = upgrade.call(old, "POST", f"{base}/groups", {"name": "late"}, upgrade.owner)
        assert status == 503, text
        upgrade.start(ROOT, new)
        load.ports = [old, new]
        status, text = upgrade.call(new, "POST", f"{base}/groups", {"name": "late"}, upgrade.owner)
        assert status == 200, text
        load.await_more()
        upgrade.stop(old, "beat", "worker", "urgent")
        load.await_more()
        load.leave(old)
        upgrade.stop(old, "web")
        load.await_more()
    finally:
        load.stop()
    assert load.wrong == []
    until(
        lambda: in_the_catalog(upgrade) == load.acknowledged,
        lambda: (in_the_catalog(upgrade), load.acknowledged),
    )
    assert upgrade.manage(ROOT, "facts") == "all facts are as the console wrote them"
    assert upgrade.manage(ROOT, "verify_audit").startswith("intact: ")
    for port in (old, new):
        log = (upgrade.folder / f"{port}.log").read_text()
        assert not TROUBLE.search(log), log
    print(f"{sum(load.changes.values())} changes, asked again {load.again} times")
