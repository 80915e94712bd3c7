"""Access lists of HDFS over WebHDFS as a backend, the same as for files of this machine.

A list is always replaced as a whole, with its mask: when single entries are taken, HDFS makes a mask of its
own that would bring back to life what the old one held down.  What is enforced is HDFS's own, so whoever
signs in there with a name that a person bears here is that person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from lakewarden.backends.base import Backend
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Field
from lakewarden.backends.network import Network
from policies.sync.backends.files import backend as files
from policies.sync.backends.files.mark import attribute
from policies.sync.backends.files.places import Places
from policies.sync.backends.shared.rest import Address
from policies.sync.backends.webhdfs.check import check
from policies.sync.backends.webhdfs.tree import HdfsTree

SCHEMES = {"webhdfs": False, "swebhdfs": True}
PORTS = {"webhdfs": 9870, "swebhdfs": 9871}
OPTIONS = ("ca", "holds", "nameservice")


def open(
    url: str,
    *,
    realm: str,
    mark: str,
    network: Network,
    places: Mapping[tuple[str, ...], str] | None = None,
    people: Iterable[str] = (),
) -> Backend:
    """The backend behind a `webhdfs://user:token@host:port/folder` URL.  Raises Misconfigured.

    `places` are the storage locations of what does not lie by the usual layout; `people` are all who may
    have something, as HDFS knows no accounts and takes any name.
    """
    at, holds = read(url)
    tree = HdfsTree(at, attribute(realm, mark), network)
    return files.Files(tree, Places(tree, holds, places or {}), people, lambda: check(tree))


def read(url: str) -> tuple[Address, str]:
    """Where to go and what is there.  Raises Misconfigured, without the URL: the token stands in it."""
    try:
        parts = urlsplit(url)
        port, asked = parts.port, dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise _no_url() from None
    if (
        parts.scheme not in SCHEMES
        or not parts.hostname
        or parts.fragment
        or not {*OPTIONS}.issuperset(asked)
    ):
        raise _no_url()
    user, token = unquote(parts.username or ""), unquote(parts.password or "")
    if not user and not token:
        raise Misconfigured("the URL names neither a user nor a delegation token: webhdfs://user@host:9870/…")
    names = tuple(unquote(name) for name in parts.path.split("/") if name)
    holds = files.HOLDS.get(asked.get("holds", "filesets"))
    if holds is None or {".", ".."}.intersection(names):
        raise _no_url()
    at = Address(
        SCHEMES[parts.scheme], parts.hostname, port or PORTS[parts.scheme], names, user, token, asked
    )
    return at, holds


def _no_url() -> Misconfigured:
    return Misconfigured("the URL must look like webhdfs://user:token@host:9870/folder?nameservice=…")


def _url(values: Mapping[str, str]) -> str:
    scheme = "webhdfs" if values.get("tls") == "no" else "swebhdfs"
    token = f":{quote(values['password'], safe='')}" if values.get("password") else ""
    port = f":{values['port']}" if values.get("port") else ""
    more = {name: values[name] for name in OPTIONS if values.get(name)}
    if more.get("holds") == "filesets":
        del more["holds"]
    host = quote(values.get("host", ""), safe="[]:.-_")
    at = f"{scheme}://{quote(values.get('user', ''), safe='')}{token}@{host}{port}"
    return f"{at}/{quote(values.get('path', '').strip('/'))}" + (f"?{urlencode(more)}" if more else "")


def _parts(url: str) -> dict[str, str]:
    at, holds = read(url)
    return {
        "host": at.host,
        "port": str(at.port),
        "dbname": "/".join(at.path),
        "user": at.user,
        "password": at.secret,
        "path": "/" + "/".join(at.path),
        "tls": "yes" if at.tls else "no",
        "nameservice": at.options.get("nameservice", ""),
        "holds": next(word for word, kind in files.HOLDS.items() if kind == holds),
    }


KIND = files.kind(
    code="webhdfs",
    label="HDFS (WebHDFS)",
    open=open,
    needs=("network", "places", "people"),
    schemes=tuple(f"{scheme}://" for scheme in SCHEMES),
    example="webhdfs://hdfs@namenode.example.com:9870/warehouse",
    experimental="It was run against a stand-in that keeps HDFS's rules of access lists, not on Hadoop.",
    url=_url,
    parts=_parts,
    fields=(
        Field("path", "Folder", "The folder whose folders are the schemas, such as /warehouse."),
        Field("tls", "Encrypted", required=False, choices=(("yes", "By TLS"), ("no", "Not encrypted"))),
        Field(
            "nameservice",
            "Name service",
            "Other names of this HDFS in locations, besides its host, such as prod in hdfs://prod/x.",
            required=False,
        ),
        files.WHAT,
    ),
)
