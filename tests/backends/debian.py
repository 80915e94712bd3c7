"""The PostgreSQL 15 of Debian 12: older than what pip brings, for the tests that are slow."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = Path("/usr/lib/postgresql/15/bin")


class PostgreSQL15:
    """A server of our own on a socket; nobody reaches it by network.  Raises CalledProcessError."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="lw-pg15-"))
        # servers refuse to run as root
        self._as = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(self.home, "postgres")
        self._run("initdb", "-A", "trust", "--no-sync", "-U", "postgres", "-D", str(self.home / "data"))
        options = f"-k {self.home} -c listen_addresses= -c fsync=off"
        log = str(self.home / "log")
        self._run("pg_ctl", "-w", "-D", str(self.home / "data"), "-l", log, "-o", options, "start")

    def get_uri(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.home}"

    def cleanup(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "-D", str(self.home / "data"), "stop")
        shutil.rmtree(self.home)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(PROGRAMS / program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as
        )
