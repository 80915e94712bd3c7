"""Opening the outside system behind a catalog."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from catalog.nodes import Node
from lakewarden.backends import base, kinds
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind
from policies.models import Backend
from policies.sync.people import people
from policies.sync.places import places
from policies.sync.seal import unseal

READ_HERE = frozenset(
    ("passfile", "servicefile", "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslkeylogfile", "gsslib")
)
"""Options of the driver that would have it read or write files of the console's own machine; the root
certificate to trust is not among them, because it gives nothing away."""


def open_backend(row: Backend, node: Node) -> base.Backend:
    """The object for what is connected to a node, opened when first used.  Raises Misconfigured."""
    kind = kinds.get(row.kind)
    more: dict[str, object] = {"places": places(node, kind)} if kind.placed else {}
    if kind.asks_people:
        more["people"] = people(node)
    opened: base.Backend = kind.open(
        unseal(row.sealed_url), realm=node.realm, mark=f"backend-{row.pk}", **more
    )
    return opened


def filled_in(url: str) -> str:
    """The URL with `$NAME` taken from the environment, so that secrets need not stand on a command line.

    A name that is the whole of it stands for a URL; one inside it for a part, which is quoted as a URL wants.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in os.environ:
            raise Misconfigured(f"the URL names ${name}, which is not in the environment")
        return os.environ[name] if match[0] == url else quote(os.environ[name], safe="")

    return re.sub(r"\$([A-Z_][A-Z0-9_]*)", value, url)


def check_allowed(kind: Kind, url: str) -> None:
    """Raise Misconfigured when LAKEWARDEN_CONNECT_ALLOW does not let this site reach a URL's place."""
    if not kind.takes(url):
        raise Misconfigured(f"the URL of a {kind.code} backend begins with {' or '.join(kind.schemes)}")
    parts = kind.parts(url)
    if "folder" in parts:
        check_folder(parts["folder"])
    if "service" in parts:
        raise Misconfigured("the URL names a service; name its host, so that it can be judged")
    for option in sorted(READ_HERE & parts.keys()):
        raise Misconfigured(f"the URL must not name {option}: a connection reads no files of this machine")
    hosts = [host for name in ("host", "hostaddr") for host in parts.get(name, "").split(",")]
    for host in filter(None, hosts):
        if not host.startswith("/"):
            check_host(host)


def check_host(host: str) -> None:
    """Raise Misconfigured when LAKEWARDEN_CONNECT_ALLOW does not let this site reach the host."""
    if not _allowed(host):
        who = "whoever runs this Lakewarden adds it there"
        raise Misconfigured(f"{host} is not among the hosts in LAKEWARDEN_CONNECT_ALLOW; {who}")


def check_folder(folder: str) -> None:
    """Raise Misconfigured unless LAKEWARDEN_CONNECT_ALLOW names the folder, or one above it, by its path."""
    allowed = [Path(entry).resolve() for entry in settings.LAKEWARDEN_CONNECT_ALLOW if entry.startswith("/")]
    if not Path(folder).is_absolute() or not any(map(Path(folder).resolve().is_relative_to, allowed)):
        raise Misconfigured(f"{folder} is not below a folder in LAKEWARDEN_CONNECT_ALLOW")


def _allowed(host: str) -> bool:
    return any(_covers(entry, host) for entry in settings.LAKEWARDEN_CONNECT_ALLOW)


def _covers(entry: str, host: str) -> bool:
    if entry == "loopback":
        return host == "localhost" or _is_loopback(host)
    if entry == host:
        return not host.startswith("/")
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
