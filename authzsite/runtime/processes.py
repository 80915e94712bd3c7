"""What `make run` starts: servers, migrations, demo, then web, workers and beat until somebody says stop.

A part that dies is started again, because work waits in the database and a killed worker must cost seconds,
not a second `make run`; one that keeps dying stops everything with a line that says so. Parts get SIGTERM
from the kernel when this process is killed, so nothing is left behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psycopg

from authzsite import embedded
from authzsite.demo import passwords, shop
from authzsite.embedded import keeper
from authzsite.environment import CHECKOUT, Environment, read_or_exit, refuse

CURRENT = "step migrate is not needed"
STEP = "step "
"""What `manage.py prepare` says when nothing is to be migrated, and before the name of what it has done."""
HOST = "127.0.0.1"
STOP_WAIT = 10.0  # seconds until a part that does not stop is killed
MOST_DEATHS = 5  # of one part, within
DEATHS_WITHIN = 60.0  # seconds
READY_WAIT = 180.0  # seconds
OLDEST_POSTGRESQL = 140000
PR_SET_CHILD_SUBREAPER = 36


class Stopped(BaseException):
    """Somebody asked us to stop; not an error."""


class Failed(Exception):
    """The message is the one line that says why nothing runs."""


def say(line: str = "") -> None:
    with suppress(BrokenPipeError):
        print(line, flush=True)  # noqa: T201


@dataclass
class Part:
    """One long-running process, started again when it dies."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    deaths: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_DEATHS))
    due: float = 0.0

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            cwd=CHECKOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches us alone, and we stop them in order
            preexec_fn=lambda: keeper.die_with_parent(signal.SIGTERM),
        )
        threading.Thread(target=self._relay, args=(self.process.stdout,), daemon=True).start()

    def _relay(self, lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                say(f"{self.name:<6} | {line.decode(errors='replace').rstrip()}")

    def look(self) -> None:
        """Start it again when it died, at once the first time and later more slowly.  Raises Failed."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            self._bury(self.process.returncode, now)
        if self.process is None and now >= self.due:
            self.start()

    def _bury(self, code: int, now: float) -> None:
        recent = [death for death in self.deaths if now - death < DEATHS_WITHIN]
        if len(recent) >= MOST_DEATHS - 1:
            raise Failed(
                f"{self.name} ended {MOST_DEATHS} times in {DEATHS_WITHIN:.0f} s; its last lines are above"
            )
        self.kill()  # what it left behind would hold the port
        self.deaths.append(now)
        self.process = None
        self.due = now + len(recent)
        ending = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        say(f"{self.name} ended ({ending}); starting it again")

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Run:
    """One `make run`, from the first line to the last."""

    def __init__(self, environment: Environment, port: int) -> None:
        self.environment = environment
        self.port = port
        self.address = f"http://{HOST}:{port}"
        self.servers: list[tuple[str, embedded.Server]] = []
        self.parts: list[Part] = []
        self.lock = -1

    def start(self) -> None:
        self._be_alone()
        say("Lakewarden starts; Ctrl-C stops it.")
        self._start_servers()
        self._prepare()
        self._start_web()
        self._await_web()
        for part in self.parts[1:]:
            part.start()
        say()
        say(f"Lakewarden runs: {self.address}")
        say()
        for person in passwords.load(self.environment.var).console:
            say(f"  {person.user:<8} {person.password}   {person.name}: {person.about}")
        say()
        say("Ctrl-C stops everything; the data stays.")

    def watch(self) -> None:
        while True:
            for part in self.parts:
                part.look()
            # a keeper starts its server again; a killed keeper needs us
            for name, server in self.servers:
                if not server.running:
                    say(f"{name} ended with its keeper; starting it again")
                    server.start()
            time.sleep(0.2)

    def stop(self) -> None:
        for part in self.parts:
            part.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_WAIT
        for part in self.parts:
            if part.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    part.process.wait(max(0.0, deadline - time.monotonic()))
        for part in self.parts:
            part.kill()
        for name, server in reversed(self.servers):
            if not server.stop():
                say(f"  {name} stays up as long as another process uses it")

    def _be_alone(self) -> None:
        """One run a checkout, and a free port, before anything is touched."""
        _make_private(self.environment.var)
        place = self.environment.var / "run.lock"
        self.lock = keeper.open_lock(str(self.environment.var), place.name)
        if not keeper.try_lock(self.lock):
            raise Failed(
                f"`make run` already runs here at {place.read_text().strip() or 'an address not yet known'}"
            )
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((HOST, self.port))
            except OSError as taken:
                raise Failed(
                    f"port {self.port} on {HOST} cannot be used ({taken.strerror}); "
                    f"choose another: PORT={self.port + 1} make run"
                ) from None
        os.ftruncate(self.lock, 0)
        os.write(self.lock, f"{self.address}\n".encode())

    def _start_servers(self) -> None:
        var = self.environment.var
        if self.environment.database:
            version = _try_database(self.environment.database)
            say(f"  database  {version} from DATABASE_URL")
        else:
            self._start_server("database", "PostgreSQL 18", embedded.console_database(var))
        if self.environment.redis_url:
            _try_redis(self.environment.redis_url)
            say("  broker    Redis from REDIS_URL")
        else:
            self._start_server("broker", "Redis", embedded.redis(var))
        self._start_server("shop", f"PostgreSQL {shop.VERSION}", shop.server(var))
        shop.ensure(var, on=self.servers[-1][1])  # type: ignore[arg-type]

    def _start_server(self, name: str, what: str, server: embedded.Server) -> None:
        self.servers.append((name, server))
        server.start()
        say(f"  {name:<9} {what}, embedded in {_shown(server.home)}")

    def _prepare(self) -> None:
        """Migrations, seals and the demo in one process; where nothing is migrated, web starts meanwhile."""
        lines = []
        with subprocess.Popen(
            [sys.executable, "manage.py", "prepare"],
            cwd=CHECKOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: keeper.die_with_parent(signal.SIGTERM),
        ) as process:
            try:
                for line in process.stdout or ():
                    lines.append(line)
                    self._hear(line)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            sys.stderr.write("".join(lines))
            raise Failed("`manage.py prepare` failed; its words are above")

    def _hear(self, line: str) -> None:
        """What the preparation says of itself."""
        if line.strip() == CURRENT:
            self._start_web()
        elif line.startswith(STEP):
            say(f"  {line.removeprefix(STEP).strip():<9} done")

    def _start_web(self) -> None:
        """Before the others, as all of them at once would share the cores."""
        if not self.parts:
            self.parts = [Part(name, command) for name, command in _commands(self.port).items()]
            self.parts[0].start()

    def _await_web(self) -> None:
        deadline = time.monotonic() + READY_WAIT
        while time.monotonic() < deadline:
            self.parts[0].look()
            if _answers(self.address):
                return
            time.sleep(0.1)
        raise Failed(f"the web server does not answer at {self.address}")


def _commands(port: int) -> dict[str, list[str]]:
    python = [sys.executable, "-m"]
    # Celery warns of root because of pickle; only JSON is accepted here
    quiet = ["-W", "ignore:You're running the worker with superuser privileges"]
    celery = [sys.executable, *quiet, "-m", "celery", "--app=authzsite", "--quiet"]
    worker = [*celery, "worker", "--pool=threads", "--loglevel=warning"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return {
        "web": [
            *(*python, "gunicorn", "authzsite.wsgi", f"--bind={HOST}:{port}", "--worker-class=gthread"),
            *("--workers=2", "--threads=8", "--graceful-timeout=5", "--timeout=60", "--log-level=warning"),
            "--no-control-socket",
        ],
        # a process of its own, so that what takes access away never waits for a hand
        "urgent": [*worker, "--concurrency=2", "--queues=urgent", "--hostname=urgent@%h"],
        "worker": [*worker, "--concurrency=4"],
        "beat": [*celery, "beat", "--pidfile=", "--loglevel=warning"],
    }


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/health/live", timeout=5).close()  # noqa: S310
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _try_database(settings: Mapping[str, object]) -> str:
    """Its version in words.  Raises Failed where it does not answer or is too old."""
    try:
        with psycopg.connect(**dict(settings), connect_timeout=5) as connection:  # type: ignore[arg-type]
            version = connection.info.server_version
    except psycopg.Error as refused:
        raise Failed(f"DATABASE_URL: {' '.join(str(refused).split())}") from None
    if version < OLDEST_POSTGRESQL:
        raise Failed(f"DATABASE_URL: PostgreSQL {version // 10000} is too old; 14 or newer is needed")
    return f"PostgreSQL {version // 10000}"


def _try_redis(url: str) -> None:
    from redis import Redis, RedisError

    try:
        with Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as server:
            server.ping()
    except RedisError as refused:
        raise Failed(f"REDIS_URL: {' '.join(str(refused).split())}") from None


def _shown(place: Path) -> Path:
    return place.relative_to(CHECKOUT) if place.is_relative_to(CHECKOUT) else place


def _stop_on_signals() -> None:
    def stop(number: int, _frame: object) -> None:
        raise Stopped(signal.Signals(number).name)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def _bury_orphans() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _make_private(var: Path) -> None:
    """`var/` is for the account that runs this, however open an older version left it."""
    os.umask(0o077)
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    var.chmod(var.stat().st_mode & 0o710)  # the account of an embedded server may pass
    for place in var.iterdir():
        if place.is_file() and not place.is_symlink():
            place.chmod(place.stat().st_mode & 0o700)


def main() -> int:
    text = os.environ.get("PORT", "") or "8000"
    if not text.isdigit() or not 0 < int(text) < 65536:
        refuse(f"PORT={text!r} is not a port (1 to 65535)")
    port = int(text)
    run = Run(read_or_exit(), port)
    # keepers of servers become our children, so that none of them is left unburied at the end
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.environ.get("MAKELEVEL"):
        keeper.die_with_parent(signal.SIGTERM)  # a killed `make` takes its run along
    _stop_on_signals()
    code = 0
    try:
        run.start()
        run.watch()
    except Stopped:
        say("\nStopping …")
    except (Failed, embedded.CannotStart, ValueError) as failed:
        sys.stderr.write(f"lakewarden: {failed}\n")
        code = 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        run.stop()
        _bury_orphans()
    if not code:
        say("Stopped.")
    return code


if __name__ == "__main__":
    sys.exit(main())
