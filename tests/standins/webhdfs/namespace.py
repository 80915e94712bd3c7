"""Files and folders of the stand-in: owners, modes, lists, attributes, and who may do what to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from tests.standins.webhdfs.acls import Acl, AclException, Entry

SUPERUSER, SUPERGROUP = "hdfs", "supergroup"
_ids = count(16385)


class AccessControlException(Exception):
    """Somebody may not."""


class FileNotFoundException(Exception):
    """There is no such thing."""


class FileAlreadyExistsException(Exception):
    """There is one already."""


@dataclass
class Inode:
    """`named` are the entries beside owner, mask and others.

    Once there are any, the owning group's is among them, and its bits in `mode` are those of the mask.
    """

    folder: bool
    owner: str
    group: str
    mode: int
    named: tuple[Entry, ...] = ()
    default: tuple[Entry, ...] = ()
    attributes: dict[str, bytes] = field(default_factory=dict)
    children: dict[str, Inode] = field(default_factory=dict)
    link: str = ""
    id: int = field(default_factory=lambda: next(_ids))

    def acl(self) -> Acl:
        """The whole list."""
        owner, group, other = self.mode >> 6 & 7, self.mode >> 3 & 7, self.mode & 7
        if not self.named:
            base = [
                Entry("access", "user", "", owner),
                Entry("access", "group", "", group),
                Entry("access", "other", "", other),
            ]
            return (*base, *self.default)
        base = [Entry("access", "user", "", owner), *self.named, Entry("access", "mask", "", group)]
        return (*base, Entry("access", "other", "", other), *self.default)

    def keep(self, acl: Acl) -> None:
        """Store a list as HDFS does: the mask in the place of the group's bits."""
        access = {item.key[1:]: item for item in acl if item.scope == "access"}
        default = tuple(item for item in acl if item.scope == "default")
        if default and not self.folder:
            raise AclException("Invalid ACL: only directories may have a default ACL.")
        extended = ("mask", "") in access
        group = access["mask" if extended else "group", ""].bits
        self.mode = self.mode & 0o1000 | access["user", ""].bits << 6 | group << 3 | access["other", ""].bits
        middle = [item for item in acl if item.scope == "access" and item.type in ("user", "group")]
        self.named = tuple(item for item in middle if item.name or item.type == "group") if extended else ()
        self.default = default

    def bits_of(self, user: str, groups: frozenset[str]) -> int:
        """What a user may do, by the first class of entries that fits."""
        owner, group, other = self.mode >> 6 & 7, self.mode >> 3 & 7, self.mode & 7
        if user == self.owner:
            return owner
        if not self.named:
            return group if self.group in groups else other
        for item in self.named:
            if item.type == "user" and item.name == user:
                return item.bits & group
        fitting = [
            item.bits for item in self.named if item.type == "group" and (item.name or self.group) in groups
        ]
        if not fitting:
            return other
        union = 0
        for bits in fitting:
            union |= bits
        return union & group


class Namespace:
    """The tree, and who asks in `user`."""

    def __init__(self) -> None:
        self.root = Inode(True, SUPERUSER, SUPERGROUP, 0o755)
        self.groups: dict[str, frozenset[str]] = {}

    def find(self, path: str, user: str) -> Inode:
        """What is at a path, as far as the user comes."""
        here, walked = self.root, ""
        for name in _names(path):
            self.check(here, user, 1, walked or "/")
            walked += f"/{name}"
            if name not in here.children:
                raise FileNotFoundException(f"File does not exist: {path}")
            here = here.children[name]
        return here

    def check(self, node: Inode, user: str, bits: int, path: str) -> None:
        if user == SUPERUSER or node.bits_of(user, self.groups.get(user, frozenset())) & bits == bits:
            return
        kind = "d" if node.folder else "-"
        raise AccessControlException(
            f'Permission denied: user={user}, access={bits}, inode="{path}":{node.owner}:{node.group}:{kind}'
            f"{node.mode:o}"
        )

    def check_owner(self, node: Inode, user: str, path: str) -> None:
        if user not in (SUPERUSER, node.owner):
            raise AccessControlException(f"Permission denied. user={user} is not the owner of inode={path}")

    def make(self, path: str, user: str, *, folder: bool, mode: int) -> Inode:
        """A folder with those above it, or a file; what it inherits is narrowed by the mode asked for."""
        *above, name = _names(path)
        here, walked = self.root, ""
        for step in above:
            walked += f"/{step}"
            if step not in here.children:
                here.children[step] = self._new(here, user, folder=True, mode=0o755)
            here = here.children[step]
        if name in here.children:
            raise FileAlreadyExistsException(f"{path} already exists")
        self.check(here, user, 3, walked or "/")
        here.children[name] = self._new(here, user, folder=folder, mode=mode)
        return here.children[name]

    def _new(self, above: Inode, user: str, *, folder: bool, mode: int) -> Inode:
        node = Inode(folder, user, above.group, mode)
        if not above.default:
            return node
        by_type = {"user": mode >> 6 & 7, "group": mode >> 3 & 7, "mask": mode >> 3 & 7, "other": mode & 7}
        bare = not any(item.name for item in above.default)
        acl = []
        for item in above.default:
            limited = not item.name and (item.type != "group" or bare)
            acl.append(
                Entry(
                    "access", item.type, item.name, item.bits & by_type[item.type] if limited else item.bits
                )
            )
        node.keep((*acl, *(above.default if folder else ())))
        return node

    def rename(self, path: str, to: str, user: str) -> bool:
        old, new = self._above(path, user), self._above(to, user)
        if old is None or new is None or _names(to)[-1] in new.children:
            return False
        if _names(path)[-1] not in old.children:
            return False
        self.check(old, user, 3, path)
        self.check(new, user, 3, to)
        new.children[_names(to)[-1]] = old.children.pop(_names(path)[-1])
        return True

    def delete(self, path: str, user: str) -> bool:
        above = self._above(path, user)
        if above is None or _names(path)[-1] not in above.children:
            return False
        self.check(above, user, 3, path)
        del above.children[_names(path)[-1]]
        return True

    def _above(self, path: str, user: str) -> Inode | None:
        names = _names(path)
        try:
            return self.find("/".join(names[:-1]), user)
        except FileNotFoundException:
            return None


def _names(path: str) -> list[str]:
    names = [name for name in path.split("/") if name]
    if any(name in (".", "..") or ":" in name for name in names):
        raise FileNotFoundException(f"Invalid path name {path}")
    return names


def listed(node: Inode, after: str) -> Iterator[tuple[str, Inode]]:
    """Children in the order of their bytes, from after a name on; a file is its own only one."""
    if not node.folder:
        yield "", node
        return
    for name in sorted(node.children, key=str.encode):
        if name.encode() > after.encode():
            yield name, node.children[name]
