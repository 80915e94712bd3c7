"""A MySQL out of packages of Debian or Ubuntu, unpacked into the cache and run by their own libc."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

import pymysql

from tests.backends.mariadb_world import answers
from tests.real.packages import unpacked
from tests.real.servers import Server, free_port

BOUNDS = (
    "--innodb-buffer-pool-size=64M",
    "--performance-schema=OFF",
    "--max-connections=40",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--mysqlx=OFF",
)


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
        self.wait(lambda: answers(self))

    def connect(self, user: str = "root", password: str = "") -> pymysql.Connection[Any]:
        """As root over the socket, as anybody else as programs come: over TCP, with TLS."""
        where: dict[str, Any] = {"host": "127.0.0.1", "port": self.port}
        if user == "root":
            where = {"unix_socket": str(self.socket), "ssl_disabled": True}
        return pymysql.connect(user=user, password=password, charset="utf8mb4", autocommit=True, **where)

    def url(self, user: str, password: str) -> str:
        return f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{self.port}/"
