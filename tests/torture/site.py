"""A site in a folder of its own, run as `make run` runs one, but with two of everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil

from authzsite import embedded
from authzsite.runtime import processes
from authzsite.runtime.processes import Part
from tests.standins.faults import Proxy

DISK = "700m"
"""Of the console's database."""


class Site:
    """Servers and processes; what dies is started again, as `make run` does."""

    def __init__(self, folder: Path, ports: tuple[int, int]) -> None:
        self.folder, self.ports = folder, ports
        self.database = embedded.console_database(folder)
        self.redis = embedded.redis(folder)
        self.governed = embedded.PostgreSQL(folder / "governed", version=16, passwords=True)
        self.parts: dict[str, Part] = {}
        self.has_disk = False
        self.backend = 0
        self._stopped = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def start_servers(self) -> None:
        self.database.home.mkdir(mode=0o711)
        # a disk of its own, which a fault can fill; only root can make one
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=711", "tmpfs", str(self.database.home)]
        self.has_disk = not subprocess.run(mount, capture_output=True, check=False).returncode
        for server in (self.database, self.redis, self.governed):
            server.start()
        self.line = Proxy(str(self.governed.socket))

    def start_processes(self) -> None:
        log = (self.folder / "log").open("a", buffering=1)
        processes.say = lambda line="": print(line, file=log)
        for number, port in enumerate(self.ports, 1):
            for name, command in processes._commands(port).items():
                words = [word.replace("@%h", f"{number}@%h") for word in command]
                self.parts[f"{name} {number}"] = Part(f"{name} {number}", words)
        for part in self.parts.values():
            part.start()
        self._keeper.start()

    def _keep(self) -> None:
        while not self._stopped.wait(0.2):
            for part in self.parts.values():
                part.deaths.clear()  # it is we who kill them
                part.look()
            for server in (self.database, self.redis, self.governed):
                if not server.running:
                    with suppress(embedded.CannotStart, OSError):
                        server.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._keeper.is_alive():
            self._keeper.join(30)
        for part in self.parts.values():
            part.signal(signal.SIGCONT)
            part.kill()
        self.line.__exit__()
        for server in (self.redis, self.governed, self.database):
            server.stop()
        if self.has_disk:
            subprocess.run(["umount", str(self.database.home)], check=True)

    # who is there

    def pid_of(self, part: str) -> int:
        process = self.parts[part].process
        return process.pid if process else 0

    def web_children(self, part: str) -> list[int]:
        with suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(self.pid_of(part)).children()]
        return []

    @staticmethod
    def keeper_of(server: embedded.Server) -> int:
        text = (server.home / "keeper.lock").read_text().strip()
        return int(text) if text.isdigit() else 0

    @staticmethod
    def postmaster_of(server: embedded.PostgreSQL) -> int:
        with suppress(OSError, IndexError, ValueError):
            return int((server.cluster / "postmaster.pid").read_text().split()[0])
        return 0

    def redis_itself(self) -> int:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.keeper_of(self.redis)).children():
                return child.pid
        return 0


def end(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that may have gone meanwhile."""
    if pid > 1:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def prepare_environment(folder: Path) -> None:
    """Have this process, and all that it starts, be of the site in that folder."""
    for name in ("DATABASE_URL", "REDIS_URL", "LAKEWARDEN_TESTS_SECONDS_AHEAD"):
        os.environ.pop(name, None)
    os.environ |= {
        "LAKEWARDEN_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "authzsite.settings",
        "LAKEWARDEN_CONNECT_ALLOW": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
