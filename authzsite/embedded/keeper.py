"""Keeps one embedded server running while any process uses it, and stops it when the last one has gone.

    python keeper.py HOME GRACE SIGNAL USER LOG -- COMMAND…

Every user of the server holds a shared lock on HOME/users.lock; the kernel lets go of it however the user
dies: a killed process neither wedges the server nor leaves it behind. The keeper itself holds
HOME/keeper.lock. A script of its own, with the standard library only: it lives as long as the server and
must stay small.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import Any

POLL = 0.25  # seconds
STOP_WAIT = 20.0  # seconds until a stopping server is killed
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent(number: int) -> None:
    """In a child on Linux: have the kernel send us the signal when the parent dies."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def open_lock(home: str, name: str) -> int:
    return os.open(os.path.join(home, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Keeper:
    def __init__(
        self, home: str, grace: float, stop_signal: int, user: str, log: str, command: list[str]
    ) -> None:
        self.home = home
        self.grace = grace
        self.stop_signal = stop_signal
        self.user = user
        self.log = log
        self.command = command
        self.users = open_lock(home, "users.lock")
        self.asked_to_stop = False

    def ask_to_stop(self, *_: object) -> None:
        self.asked_to_stop = True

    def spawn(self) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = (
            {} if self.user == "-" else {"user": self.user, "group": self.user, "extra_groups": []}
        )
        with open(self.log, "ab", opener=lambda place, flags: os.open(place, flags, 0o600)) as log:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(self.stop_signal),
                **options,
            )

    def unused(self) -> bool:
        """Looks under start.lock, so that nobody who asks the same takes our look for a user."""
        start = open_lock(self.home, "start.lock")
        try:
            if not try_lock(start) or not try_lock(self.users):
                return False
            fcntl.flock(self.users, fcntl.LOCK_UN)
            return True
        finally:
            os.close(start)

    def stop(self, server: subprocess.Popen[bytes]) -> None:
        """Under start.lock and with users.lock taken: nobody can begin to use the server meanwhile."""
        server.send_signal(self.stop_signal)
        try:
            server.wait(STOP_WAIT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def stopped_unused(self, server: subprocess.Popen[bytes]) -> bool:
        start = open_lock(self.home, "start.lock")
        if not try_lock(start):  # somebody is just starting to use it
            os.close(start)
            return False
        mine = try_lock(self.users)
        if mine:
            self.stop(server)
        os.close(start)
        return mine

    def watch(self) -> None:
        """Until nobody needs the server: start it again when it dies, at most once a second."""
        idle = 0.0
        while True:
            server = self.spawn()
            began = time.monotonic()
            while server.poll() is None:
                time.sleep(POLL)
                idle = idle + POLL if self.unused() else 0.0
                if (idle >= self.grace or (self.asked_to_stop and idle)) and self.stopped_unused(server):
                    return
            if self.unused():
                return
            time.sleep(max(0.0, began + 1 - time.monotonic()))


def main() -> None:
    home, grace, stop_signal, user, log, _, *command = sys.argv[1:]
    lock = open_lock(home, "keeper.lock")
    if not try_lock(lock):
        return
    if os.fork():  # the starter goes on, and never has to collect us
        os._exit(0)
    os.setsid()
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    keeper = Keeper(home, float(grace), int(stop_signal), user, log, command)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, keeper.ask_to_stop)
    keeper.watch()


if __name__ == "__main__":
    main()
