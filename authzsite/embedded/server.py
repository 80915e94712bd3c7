"""What every embedded server shares: it is started by its first user and held by all of them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from authzsite.embedded import keeper

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE = 10.0  # seconds that an unused server stays up, so that command after command finds it
START_WAIT = 180.0  # seconds
USER_WAIT = 1.0  # seconds in which a program that we are just starting lets go of what it inherited
LONGEST_SOCKET = 100  # bytes; the kernel ends at 107


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
        self.socket = short_directory(home, self.socket_name) / self.socket_name
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

    def refresh(self) -> None:
        """Bring a server up to date that somebody else started."""

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

    @property
    def held(self) -> bool:
        """Whether this process has used the server before, and does still."""
        return self._held is not None and self._holder == os.getpid()

    def start(self) -> None:
        """Use the server from now until this process ends or calls `release`; starts it when nobody did.

        Raises CannotStart.
        """
        if self.held and self.accepts():
            return
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.held:
            self._held = keeper.open_lock(str(self.home), "users.lock")
            self._holder = os.getpid()
            fcntl.flock(self._held, fcntl.LOCK_SH)
        with self._starting():
            if not (self.running and self.answers()):
                deadline = time.monotonic() + START_WAIT
                while not self.answers():
                    if not self.running:  # or not any more: a keeper that was just leaving when we came
                        self.prepare()
                        self._start_keeper()
                    if time.monotonic() > deadline:
                        raise CannotStart(
                            f"the embedded server in {self.home} does not start; its log is {self.log}"
                        )
                    time.sleep(0.03)
                self.settle()
            else:
                self.refresh()

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
            deadline = time.monotonic() + 2 * keeper.STOP_WAIT  # the keeper kills it after one
            while not keeper.try_lock(lock):
                if self._used() or time.monotonic() > deadline:
                    return False
                self._tell_keeper()
                time.sleep(0.05)
        finally:
            os.close(lock)
        return True

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
            deadline = time.monotonic() + USER_WAIT
            while not keeper.try_lock(users):
                if time.monotonic() > deadline:
                    return True
                time.sleep(0.01)
            return False
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
        if self.log.exists():
            self.log.chmod(0o600)
            if self.log.stat().st_size > 5_000_000:
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


def package(name: str) -> Path:
    """Where a package's files are; importing it would run code that we have no use for."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise CannotStart(f"the package {name} is not installed")
    return Path(spec.origin).parent


def short_directory(home: Path, name: str) -> Path:
    """Where a socket called `name` may live: in `home`, or in a private place when that path is too long."""
    if len(os.fsencode(home / "socket" / name)) <= LONGEST_SOCKET:
        return home / "socket"
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"lakewarden-{os.geteuid()}-{digest}"


def make_private(directory: Path, owner: int) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    if directory.is_symlink() or status.st_uid not in (owner, os.geteuid()):
        raise CannotStart(f"{directory} belongs to somebody else")
    directory.chmod(0o700)
    if status.st_uid != owner:
        os.chown(directory, owner, -1)
