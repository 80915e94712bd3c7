"""A tree of files in HDFS, seen over WebHDFS: one call each for a batch of names, a list, a mark."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lakewarden.backends.base import Source
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.network import Network
from lakewarden.law.locations import normal
from policies.sync.backends.files.acl import Acl, Name
from policies.sync.backends.files.mark_store import Kept
from policies.sync.backends.files.tree import Entry, Node, Path, Troubles
from policies.sync.backends.shared.rest import Address, Refused, Rest

_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
"""Names that WebHDFS takes in a list, unless dfs.webhdfs.acl.provider.permission.pattern says otherwise."""

_NAMENODE = "Hadoop:service=NameNode,name=NameNodeInfo"

_MEANS: dict[type[BackendError], tuple[str, ...]] = {
    Gone: ("FileNotFoundException", "PathNotFoundException"),
    Misconfigured: (
        "AccessControlException",
        "AuthenticationException",
        "AuthorizationException",
        "InvalidToken",
        "SecurityException",
    ),
    Transient: ("RetriableException", "SafeModeException", "StandbyException", "ServerTooBusyException"),
}


class HdfsTree:
    """The tree below the path of `at`; `name` is that of our mark."""

    everything = ""
    """Who the superuser is, HDFS does not tell."""

    def __init__(self, at: Address, name: str, network: Network) -> None:
        self.at, self.kept = at, Kept(self, name)
        self._rest = Rest(at, lambda: "", network=network, explain=_explained)
        self._as = {"user.name": at.user} if at.user and not at.secret else {"delegation": at.secret}

    def close(self) -> None:
        self._rest.close()

    def source(self) -> Source:
        """The folder's path and those above it, in the cluster that it says it is."""
        cluster, names = self._cluster(), self.at.path
        paths = [f"hdfs {cluster} /{'/'.join(names[:length])}" for length in range(len(names), -1, -1)]
        return Source(paths[0], tuple(paths[1:]))

    def _cluster(self) -> str:
        """The number that HDFS was formatted with; where it is not told, its machine."""
        try:
            body = self._rest.get("jmx", qry=_NAMENODE)
        except (Refused, Misconfigured):
            body = None  # only administrators of that cluster may look
        beans = body.get("beans") if isinstance(body, dict) else None
        ids = [bean["ClusterId"] for bean in beans or () if isinstance(bean, dict) and bean.get("ClusterId")]
        return str(ids[0]) if ids else self._rest.machine

    @contextmanager
    def alone(self) -> Iterator[None]:
        """HDFS has no lock to take; the console gives one tree to one worker at a time."""
        yield

    # folders and files

    @contextmanager
    def top(self, path: Path) -> Iterator[Node]:
        for name in path:
            if not name or name in (".", "..") or "/" in name:
                raise Gone("there is no such folder")
        status = self._get(path, "GETFILESTATUS", "FileStatus")
        if status.get("type") != "DIRECTORY":
            raise Gone("it is no folder")
        yield self._node(path, status)

    def id_of(self, node: Node) -> str:
        """The number of the inode, which HDFS never uses again."""
        return str(node.handle)

    def folders(self, node: Node) -> Iterator[Node]:
        for status in self._listed(node.path):
            if status.get("type") == "DIRECTORY":
                path = (*node.path, str(status["pathSuffix"]))
                yield Node(path, True, "", "", node.access, None, None)

    def entries(self, node: Node) -> Iterator[Entry]:
        for status in self._listed(node.path):
            if status.get("type") in ("FILE", "DIRECTORY"):
                folder = status["type"] == "DIRECTORY"
                size, modified = int(status.get("length", 0)), int(status.get("modificationTime", 0)) / 1000
                yield Entry(str(status["pathSuffix"]), folder, 0 if folder else size, modified)

    def below(self, node: Node, skip: Collection[Path], troubles: Troubles) -> Iterator[Node]:
        try:
            for status in self._listed(node.path):
                path = (*node.path, str(status["pathSuffix"]))
                if status.get("type") in ("FILE", "DIRECTORY") and path not in skip:
                    yield from self._through(path, status, skip, troubles)
        except BackendError as error:
            troubles(error, node.path)

    def _through(
        self, path: Path, status: Mapping[str, Any], skip: Collection[Path], troubles: Troubles
    ) -> Iterator[Node]:
        try:
            node = self._node(path, status)
        except BackendError as error:
            troubles(error, path)
            return
        yield node
        if node.folder:
            yield from self.below(node, skip, troubles)

    def _listed(self, path: Path) -> Iterator[Mapping[str, Any]]:
        """What is in a folder, batch by batch."""
        after: dict[str, str] = {}
        while True:
            body = self._get(path, "LISTSTATUS_BATCH", "DirectoryListing", **after)
            batch = body["partialListing"]["FileStatuses"]["FileStatus"]
            yield from batch
            if not body.get("remainingEntries") or not batch:
                return
            after = {"startAfter": str(batch[-1]["pathSuffix"])}

    def acl_of(self, node: Node) -> tuple[str, ...]:
        """The entries that HDFS tells beside the mode."""
        return tuple(self._get(node.path, "GETACLSTATUS", "AclStatus")["entries"])

    def _node(self, path: Path, status: Mapping[str, Any]) -> Node:
        acl_entries = self._get(path, "GETACLSTATUS", "AclStatus")["entries"] if status.get("aclBit") else ()
        entries = tuple(acl_entries)
        mode = int(str(status["permission"]), 8) & 0o777
        access, down = lists(mode, entries)
        folder = status["type"] == "DIRECTORY"
        owner, group = str(status["owner"]), str(status["group"])
        shape = (folder, owner, group, mode, entries)
        return Node(path, folder, owner, group, access, down, shape, handle=status.get("fileId", 0))

    # lists and marks

    def write(self, node: Node, access: Acl) -> None:
        self._put(node.path, "SETACL", aclspec=spec(access))

    def hand_down(self, node: Node, acl: Acl | None) -> None:
        if acl is None:
            self._put(node.path, "REMOVEDEFAULTACL")
        else:
            self._put(node.path, "SETACL", aclspec=spec(acl, "default:"))

    def mark(self, node: Node) -> str:
        return self.kept.read(node)

    def set_mark(self, node: Node, text: str) -> None:
        self.kept.write(node, text)

    def attribute(self, node: Node, name: str) -> str:
        for attribute in self._get(node.path, "GETXATTRS", "XAttrs", encoding="base64"):
            if attribute.get("name") == name:
                value = str(attribute.get("value") or "")
                try:
                    return base64.b64decode(value.removeprefix("0s"), validate=True).decode()
                except (binascii.Error, ValueError):
                    return value
        return ""

    def set_attribute(self, node: Node, name: str, text: str) -> None:
        if text:
            value = "0s" + base64.b64encode(text.encode()).decode()
            more = {"xattr.name": name, "xattr.value": value, "flag": "CREATE,REPLACE"}
            self._put(node.path, "SETXATTR", **more)
        elif self.attribute(node, name):
            self._put(node.path, "REMOVEXATTR", **{"xattr.name": name})

    # accounts: any name is one

    def user(self, name: str) -> str | None:
        return name if _NAMES.fullmatch(name) else None

    def named(self, user: str) -> str | None:
        return user

    def group(self, group: str) -> tuple[str, frozenset[str]]:
        return group, frozenset()

    def group_id(self, name: str) -> str | None:
        return name

    # locations

    def inside(self, location: str) -> Path | None:
        place = normal(location)
        scheme, _, rest = (place or "").partition("://")
        authority, _, path = rest.partition("/")
        if scheme not in ("hdfs", "webhdfs", "swebhdfs") or not self._is_here(authority):
            return None
        names = tuple(name for name in path.split("/") if name)
        root = self.at.path
        return names[len(root) :] if names[: len(root)] == root else None

    def _is_here(self, authority: str) -> bool:
        """Whether a location's authority is this HDFS; one without is whatever a program's default is."""
        known = (self.at.host.lower(), self.at.options.get("nameservice", "").lower())
        return authority.partition(":")[0] in known

    # calls

    def _get(self, path: Path, op: str, answer: str, **query: str) -> Any:
        body = self._call("GET", path, op, query)
        if not isinstance(body, dict) or answer not in body:
            raise Misconfigured(f"{self.at.place} answers {op} as no HDFS does")
        return body[answer]

    def _put(self, path: Path, op: str, **query: str) -> None:
        self._call("PUT", path, op, query)

    def _call(self, method: str, path: Path, op: str, query: Mapping[str, str]) -> Any:
        names = ("webhdfs", "v1", *self.at.path, *path)
        try:
            return self._rest.call(method, *names, query={"op": op, **self._as, **query})
        except Refused as error:
            raise meaning(error) from None


def meaning(error: Refused) -> BackendError:
    """The error by what to do next."""
    remote = error.body.get("RemoteException")
    name = str(remote.get("exception", "")) if isinstance(remote, dict) else ""
    for kind, names in _MEANS.items():
        if name in names:
            return kind(str(error))
    disabled = name == "AclException" and "disabled" in str(error)
    return Misconfigured(str(error)) if disabled or not name else Rejected(str(error))


def _explained(body: Mapping[str, Any], plain: str) -> str:
    remote = body.get("RemoteException")
    if not isinstance(remote, dict):
        return plain
    return f"{remote.get('exception', '')}: {remote.get('message', '')}".split("\n")[0]


# lists as WebHDFS writes them


def lists(mode: int, entries: Collection[str]) -> tuple[Acl, Acl | None]:
    """The list of a thing and the one it hands down, from its mode and what GETACLSTATUS tells beside it."""
    own = [entry.split(":") for entry in entries if not entry.startswith("default:")]
    down = [entry.split(":")[1:] for entry in entries if entry.startswith("default:")]
    owner, group, other = mode >> 6 & 7, mode >> 3 & 7, mode & 7
    access = Acl(owner, group, other)
    if own:
        # where somebody is named, the mode tells the mask in the place of the group
        base, named = _sorted(own)
        access = Acl(owner, base.get("group", group), other, group, named)
    if not down:
        return access, None
    base, named = _sorted(down)
    if not {"user", "group", "other"} <= base.keys():
        raise Rejected("its access list is of a form that is not known")
    return access, Acl(base["user"], base["group"], base["other"], base.get("mask"), named)


def _sorted(entries: Collection[list[str]]) -> tuple[dict[str, int], dict[Name, int]]:
    base, named = dict[str, int](), dict[Name, int]()
    for entry in entries:
        if len(entry) != 3 or len(entry[2]) != 3:
            raise Rejected("its access list is of a form that is not known")
        kind, name, letters = entry
        bits = sum(bit for bit, letter in zip((4, 2, 1), letters, strict=True) if letter != "-")
        if name:
            named[kind, name] = bits
        else:
            base[kind] = bits
    return base, named


def spec(acl: Acl, scope: str = "") -> str:
    """A list as SETACL takes it, whole."""
    mask = [("mask", "", acl.mask)] if acl.mask is not None else []
    entries = [
        ("user", "", acl.owner),
        *((kind, name, bits) for (kind, name), bits in sorted(acl.named.items()) if kind == "user"),
        ("group", "", acl.group),
        *((kind, name, bits) for (kind, name), bits in sorted(acl.named.items()) if kind == "group"),
        *mask,
        ("other", "", acl.other),
    ]
    return ",".join(f"{scope}{kind}:{name}:{_letters(bits)}" for kind, name, bits in entries)


def _letters(bits: int) -> str:
    return "".join(letter if bits & bit else "-" for bit, letter in ((4, "r"), (2, "w"), (1, "x")))
