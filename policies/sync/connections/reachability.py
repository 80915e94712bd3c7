"""Whether an address that a client names can be reached, as far as this site lets itself go."""

from __future__ import annotations

import re
import socket

from lakewarden.backends.errors import Misconfigured, Transient
from policies.sync.connections.destinations import network

TIMEOUT = 3.0  # seconds
_ADDRESS = re.compile(
    r"(?:(?:jdbc:)?(?P<scheme>[a-z][a-z0-9+]*)://)?(?:[^@/\s]*@)?(?P<host>\[[0-9a-f:]+\]|[a-z0-9.-]+)"
    r"(?::(?P<port>\d{1,5}))?(?:[/?;].*)?",
    re.IGNORECASE,
)
_PORTS = {"postgresql": 5432, "mysql": 3306, "thrift": 9083, "http": 80, "https": 443}
_LOCAL = ("file", "hdfs", "s3", "s3a", "gs", "oss", "abfss", "wasbs")
"""Storage, not a server that is asked for anything here."""


class Unreachable(Exception):
    """The address cannot be reached, or must not be."""


def check(address: str) -> None:
    """Connect once to `host:port` or a URL; what is neither is let be.  Raises Unreachable."""
    match = _ADDRESS.fullmatch(address)
    if match is None or (match["scheme"] or "").lower() in _LOCAL:
        return
    port = int(match["port"] or _PORTS.get((match["scheme"] or "").lower(), 0))
    if not 0 < port < 65536:
        return
    host = match["host"].strip("[]")
    try:
        line = network().connected(
            host, lambda address: socket.create_connection((address, port), timeout=TIMEOUT), OSError
        )
        line.close()
    except Misconfigured as error:
        raise Unreachable(str(error)) from None
    except (OSError, Transient):
        raise Unreachable(f"{host}:{port} does not answer") from None
