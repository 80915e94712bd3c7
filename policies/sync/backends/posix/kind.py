"""A mounted tree of files with POSIX access lists as a backend: the floor under whatever opens files by path.

An access list is read and written as the attribute that the kernel keeps it in, not by `setfacl`: one call
replaces the whole list at once, where `setfacl` reads and writes by itself and a process for each of 100,000
files takes minutes; nothing has to be quoted, whatever bytes are in a name; and the errors are the kernel's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from lakewarden.backends.base import Backend
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Field
from policies.sync.backends.files import backend as files
from policies.sync.backends.files.mark import attribute
from policies.sync.backends.files.places import Places
from policies.sync.backends.posix.check import check
from policies.sync.backends.posix.tree import PosixTree
from policies.sync.backends.shared.supervised import Supervised

SCHEME = "posix://"


def open(
    url: str,
    *,
    realm: str,
    mark: str,
    places: Mapping[tuple[str, ...], str] | None = None,
    people: Iterable[str] = (),
) -> Backend:
    """The backend behind a `posix:///folder` URL; nothing is read until it is asked.  Raises Misconfigured.

    `places` are the storage locations of what does not lie by the usual layout; `people` are those to look
    for among the accounts of this machine, as not every machine can list them all.
    """
    root, holds = _read(url)
    tree = PosixTree(root, attribute(realm, mark))
    return Supervised(files.Files(tree, Places(tree, holds, places or {}), people, lambda: check(tree)), root)


def _read(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Misconfigured("the URL must look like posix:///folder") from None
    root, options = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme != "posix" or parts.netloc or parts.fragment or not root.startswith("/") or "\0" in root:
        raise Misconfigured("the URL must look like posix:///folder")
    holds = files.HOLDS.get(options.pop("holds", "filesets"))
    if holds is None or options:
        raise Misconfigured("after the folder only ?holds=filesets or ?holds=tables may stand")
    return root, holds


def _url(values: Mapping[str, str]) -> str:
    tables = "?holds=tables" if values.get("holds") == "tables" else ""
    return f"{SCHEME}{quote(values.get('folder', ''))}{tables}"


def _parts(url: str) -> dict[str, str]:
    root, holds = _read(url)
    return {"folder": root, "holds": next(word for word, kind in files.HOLDS.items() if kind == holds)}


KIND = files.kind(
    code="posix",
    label="Files",
    open=open,
    schemes=(SCHEME,),
    example="posix:///srv/lake",
    url=_url,
    parts=_parts,
    fields=(
        Field(
            "folder", "Folder", "Where the tree is mounted on the machine of the workers, such as /srv/lake."
        ),
        files.WHAT,
    ),
)
