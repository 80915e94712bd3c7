"""Opening the outside system behind a catalog."""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from catalog.nodes import Node
from lakewarden.backends import base, kinds
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind
from policies.models import Backend
from policies.record import newest_editions
from policies.secrets import decrypt
from policies.sync.connections.destinations import network
from policies.sync.connections.needs import needed

READ_HERE = frozenset(
    ("passfile", "servicefile", "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslkeylogfile", "gsslib")
)
"""Options of the driver that would have it read or write files of the console's own machine; the root
certificate to trust is not among them, because it gives nothing away."""

FORGED = (
    "The connection was changed in the database outside the console. Nothing is asked or changed there until "
    "the operator of the site has looked at it: `manage.py agree`."
)


def must_be_ours(row: Backend) -> None:
    """Raise Misconfigured for a connection that was written past the console; one not yet kept is none."""
    if not row._state.adding and not (row.is_sealed and newest_editions.among([row])):
        raise Misconfigured(FORGED)


def open_backend(row: Backend, node: Node) -> base.Backend:
    """The object for what is connected to a node, opened when first used.  Raises Misconfigured."""
    must_be_ours(row)
    kind = kinds.get(row.kind)
    url, mark = decrypt(row.sealed_url), f"backend-{row.pk}"
    opened: base.Backend = kind.open(url, realm=node.realm, mark=mark, **needed(kind, node, mark))
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
        network().check_folder(parts["folder"])
        return
    if "service" in parts:
        raise Misconfigured("the URL names a service; name its host, so that it can be judged")
    for option in sorted(READ_HERE & parts.keys()):
        raise Misconfigured(f"the URL must not name {option}: a connection reads no files of this machine")
    network().check(parts)
