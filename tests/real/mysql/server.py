"""A MySQL out of packages of Debian or Ubuntu, unpacked into the cache and run by their own libc."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymysql
import pytest

from tests.real.artifacts import cache, digest, pins_of
from tests.real.servers import Server, cached, free_port

BOUNDS = (
    "--innodb-buffer-pool-size=64M",
    "--performance-schema=OFF",
    "--max-connections=40",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--mysqlx=OFF",
)


def unpacked(server: str) -> Path:
    """A folder of the cache with all packages of a server; its tests are skipped where one is missing."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is missing; on Debian it is in the package dpkg")
    packages = cached(server)
    folder = cache() / "unpacked" / f"{server}-{digest(pins_of(server))[:12]}"
    if not folder.exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        part.mkdir(parents=True)
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", str(package), str(part)], check=True)
        part.rename(folder)
    return folder


class MySQL(Server):
    """One server on loopback and a socket, with certificates that it made itself; `root` has no password."""

    def __init__(self, server: str) -> None:
        root = unpacked(server)
        super().__init__("mysql")
        self.port, self.socket = free_port(), self.home / "s"
        libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
        program = [
            str(root / "usr" / "lib64" / "ld-linux-x86-64.so.2"),
            *("--inhibit-cache", "--library-path", str(libraries), str(root / "usr" / "sbin" / "mysqld")),
            *("--no-defaults", f"--basedir={root / 'usr'}", f"--datadir={self.home / 'data'}"),
            f"--lc-messages-dir={root / 'usr' / 'share' / 'mysql'}",
            f"--character-sets-dir={root / 'usr' / 'share' / 'mysql' / 'charsets'}",
            f"--plugin-dir={root / 'usr' / 'lib' / 'mysql' / 'plugin'}",
            *("--secure-file-priv=NULL", *BOUNDS),
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]
        self.once([*program, "--initialize-insecure"])
        listens = [f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1"]
        self.run([*program, *listens, f"--pid-file={self.home / 'pid'}"])
        self.wait(self._answers)

    def connect(self, user: str = "root", password: str = "") -> pymysql.Connection[Any]:
        """As root over the socket, as anybody else as programs come: over TCP, with TLS."""
        where: dict[str, Any] = {"host": "127.0.0.1", "port": self.port}
        if user == "root":
            where = {"unix_socket": str(self.socket), "ssl_disabled": True}
        return pymysql.connect(user=user, password=password, charset="utf8mb4", autocommit=True, **where)

    def url(self, user: str, password: str) -> str:
        return f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{self.port}/"

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            self.connect().close()
        except pymysql.Error:
            return False
        return True
