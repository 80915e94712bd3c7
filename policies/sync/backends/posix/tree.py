"""A tree of files of this machine, walked by open folders: nobody can swap one for a link meanwhile."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import grp
import os
import pwd
import stat
import struct
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path as Path_
from typing import Any

from lakewarden.backends.base import Source
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, Transient
from lakewarden.law.locations import normal
from policies.sync.backends.files.acl import Acl, Name
from policies.sync.backends.files.mark_store import TRUSTED, Kept
from policies.sync.backends.files.tree import Entry, Node, Path, Troubles
from policies.sync.backends.shared.supervised import comes_further

ACCESS, HANDED_DOWN = "system.posix_acl_access", "system.posix_acl_default"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER, _USER, _GROUP_OWNER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY = 0xFFFFFFFF
_DEEP = 200
_PATIENCE = 20.0  # seconds

_WHY: dict[type[BackendError], tuple[int, ...]] = {
    Gone: (errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ELOOP),
    Misconfigured: (errno.EPERM, errno.EACCES, errno.EROFS, errno.EOPNOTSUPP, errno.ENOSYS),
    Rejected: (errno.ENOSPC, errno.EDQUOT, errno.E2BIG, errno.ERANGE, errno.EINVAL, errno.ENAMETOOLONG),
}


def backend_error(error: OSError) -> BackendError:
    """The error by what to do next, in the system's words."""
    text = os.strerror(error.errno) if error.errno else str(error)
    if error.errno in (errno.ENOSPC, errno.E2BIG, errno.ERANGE):
        text = f"there is no room for another entry ({text})"
    if error.errno == errno.EOPNOTSUPP:
        text = f"the file system keeps no access lists or no attributes ({text})"
    return next((kind(text) for kind, numbers in _WHY.items() if error.errno in numbers), Transient(text))


@contextmanager
def telling() -> Iterator[None]:
    """Errors of the system become those of a backend."""
    comes_further()
    try:
        yield
    except OSError as error:
        raise backend_error(error) from error


class PosixTree:
    """The tree below `root`; `name` is that of our mark."""

    everything = "0"

    def __init__(self, root: str, name: str) -> None:
        self.root, self.kept = os.path.realpath(root), Kept(self, name)
        self._users: dict[str, str | None] = {}

    def close(self) -> None:
        """Nothing is held between two calls."""

    def source(self) -> Source:
        """The folder and those above it, by number and moment of birth: no path and no link is believed."""
        return folder_source(self.root)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the root's lock, which dies with its process."""
        with telling():
            root = os.open(self.root, _FOLDER)
        try:
            self._lock(root)
            yield
        finally:
            os.close(root)

    def _lock(self, root: int) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            with telling(), suppress(BlockingIOError):
                fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > until:
                raise Transient("another worker is busy with this tree")
            time.sleep(0.05)

    # folders and files

    @contextmanager
    def top(self, path: Path) -> Iterator[Node]:
        """A folder by its path, each step of it no link and no other file system."""
        with telling():
            handle = os.open(self.root, _FOLDER)
        try:
            device, mounts = os.fstat(handle).st_dev, self._mounts()
            for length, name in enumerate(path, 1):
                if not name or name in (".", "..") or "/" in name or "\0" in name:
                    raise Gone("there is no such folder")
                with telling():
                    below = os.open(name, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
                if os.fstat(handle).st_dev != device or path[:length] in mounts:
                    raise Rejected("it lies on another file system, mounted inside of the tree")
            with telling():
                node = _node(path, handle, os.fstat(handle))
            yield node
        finally:
            os.close(handle)

    def id_of(self, node: Node) -> str:
        """Its number and the moment it was made, as a number is used again as soon as it is free.

        The device is left out: all is on one, and its number may be another after the next start.
        """
        born = _born(node.handle)
        return f"{os.fstat(node.handle).st_ino}" + (f".{born:x}" if born else "")

    def folders(self, node: Node) -> Iterator[Node]:
        with telling(), os.scandir(node.handle) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield Node((*node.path, entry.name), True, "", "", node.access, None, None)

    def entries(self, node: Node) -> Iterator[Entry]:
        device, mounts = os.fstat(node.handle).st_dev, self._mounts()
        with telling(), os.scandir(node.handle) as entries:
            for entry in entries:
                comes_further()
                with suppress(FileNotFoundError):  # gone since it was read
                    status = entry.stat(follow_symlinks=False)
                    folder = stat.S_ISDIR(status.st_mode)
                    mounted = status.st_dev != device or (*node.path, entry.name) in mounts
                    if (folder or stat.S_ISREG(status.st_mode)) and not mounted:
                        size = 0 if folder else status.st_size
                        yield Entry(entry.name, folder, size, status.st_mtime)

    def below(self, node: Node, skip: Collection[Path], troubles: Troubles) -> Iterator[Node]:
        walk = _Walk(os.fstat(node.handle).st_dev, {*self._mounts()}, skip, troubles)
        yield from walk.through(node.handle, node.path)

    def _mounts(self) -> frozenset[Path]:
        """Where other file systems, or others' folders, are mounted inside of the tree."""
        mounts = set()
        with telling(), open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                place = _plain(line.split(" ")[4])
                if place.startswith(self.root.rstrip("/") + "/"):
                    mounts.add(tuple(place[len(self.root.rstrip("/")) + 1 :].split("/")))
        return frozenset(mounts)

    # lists and marks

    def write(self, node: Node, access: Acl) -> None:
        with telling():
            os.setxattr(node.handle, ACCESS, packed(access), follow_symlinks=isinstance(node.handle, int))

    def hand_down(self, node: Node, acl: Acl | None) -> None:
        with telling():
            if acl is not None:
                os.setxattr(node.handle, HANDED_DOWN, packed(acl))
                return
            with _nothing_there():
                os.removexattr(node.handle, HANDED_DOWN)

    def mark(self, node: Node) -> str:
        return self.kept.read(node)

    def set_mark(self, node: Node, text: str) -> None:
        self.kept.write(node, text)

    def attribute(self, node: Node, name: str) -> str:
        with telling():
            return (_attribute(node.handle, name) or b"").decode(errors="replace")

    def set_attribute(self, node: Node, name: str, text: str) -> None:
        follow = isinstance(node.handle, int)
        with telling():
            if text:
                os.setxattr(node.handle, name, text.encode(), follow_symlinks=follow)
                return
            with _nothing_there():
                os.removexattr(node.handle, name, follow_symlinks=follow)

    # accounts

    def user(self, name: str) -> str | None:
        if name not in self._users:  # the answer may come from far away
            self._users[name] = _number(lambda: pwd.getpwnam(name).pw_uid)
        return self._users[name]

    def named(self, user: str) -> str | None:
        try:
            return pwd.getpwuid(int(user)).pw_name
        except (KeyError, ValueError, OverflowError):
            return None

    def group(self, group: str) -> tuple[str, frozenset[str]]:
        try:
            entry = grp.getgrgid(int(group))
        except (KeyError, ValueError, OverflowError):
            return f"#{group}", frozenset()
        return entry.gr_name, frozenset(entry.gr_mem)

    def group_id(self, name: str) -> str | None:
        return name[1:] if name.startswith("#") else _number(lambda: grp.getgrnam(name).gr_gid)

    # locations

    def inside(self, location: str) -> Path | None:
        place = normal(location)
        if place is None or not place.startswith("file:///"):
            return None
        # the root may be named by a link, and so may what lies in it
        names = place[len("file://") :].rstrip("/").split("/")
        for length in range(len(names), 0, -1):
            if os.path.realpath("/".join(names[:length]) or "/") == self.root:
                return tuple(names[length:])
        return None


class _Walk:
    """A walk through folders that are held open, so only as deep as there can be open ones."""

    def __init__(
        self, device: int, mounts: Collection[Path], skip: Collection[Path], troubles: Troubles
    ) -> None:
        self.device, self.mounts, self.skip, self.troubles = device, mounts, skip, troubles

    def through(self, folder: int, path: Path, depth: int = 0) -> Iterator[Node]:
        try:
            entries = os.scandir(folder)
        except OSError as error:
            self.troubles(backend_error(error), path)
            return
        with entries:
            while True:
                try:
                    entry = next(entries, None)
                except OSError as error:
                    self.troubles(backend_error(error), path)
                    return
                if entry is None:
                    return
                yield from self._entry(entry, folder, (*path, entry.name), depth)

    def _entry(self, entry: os.DirEntry[str], folder: int, path: Path, depth: int) -> Iterator[Node]:
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from self._folder(entry.name, folder, path, depth)
            elif entry.is_file(follow_symlinks=False):
                # of the file itself, even if it is a link by now
                handle = f"/proc/self/fd/{folder}/{entry.name}"
                yield _node(path, handle, os.lstat(handle))
        except OSError as error:
            self.troubles(backend_error(error), path)

    def _folder(self, name: str, above: int, path: Path, depth: int) -> Iterator[Node]:
        if path in self.skip:
            return
        if path in self.mounts:
            self.troubles.leave_out(f"{'/'.join(path)} is mounted there from elsewhere: left as it is")
            return
        if depth >= _DEEP:
            self.troubles(Rejected(f"more than {_DEEP} folders deep"), path)
            return
        folder = os.open(name, _FOLDER, dir_fd=above)
        try:
            status = os.fstat(folder)
            if status.st_dev != self.device:
                self.troubles.leave_out(f"{'/'.join(path)} is another file system: left as it is")
                return
            yield _node(path, folder, status)
            yield from self.through(folder, path, depth + 1)
        finally:
            os.close(folder)


def _node(path: Path, handle: Any, status: os.stat_result) -> Node:
    folder = stat.S_ISDIR(status.st_mode)
    access = _attribute(handle, ACCESS)
    down = _attribute(handle, HANDED_DOWN) if folder else None
    return Node(
        path,
        folder,
        owner=str(status.st_uid),
        group=str(status.st_gid),
        access=unpacked(access) if access else _plain_acl(stat.S_IMODE(status.st_mode)),
        handed_down=unpacked(down) if down else None,
        shape=(access, down, status.st_mode, status.st_uid, status.st_gid, status.st_nlink > 1),
        other_names=not folder and status.st_nlink > 1,
        handle=handle,
    )


def _attribute(handle: Any, name: str) -> bytes | None:
    comes_further()
    try:
        return os.getxattr(handle, name, follow_symlinks=isinstance(handle, int))
    except OSError as error:
        # a file system that has no such name space has nothing in it
        if error.errno == errno.ENODATA or (error.errno == errno.EOPNOTSUPP and name.startswith(TRUSTED)):
            return None
        raise


@contextmanager
def _nothing_there() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise


def _number(read: Callable[[], int]) -> str | None:
    try:
        return str(read())
    except (KeyError, ValueError, OverflowError, UnicodeError):
        return None


def _plain(text: str) -> str:
    """A path of the list of mounts, where some letters are written as `\\040`."""
    for letter in " \t\n\\":
        text = text.replace(f"\\{ord(letter):03o}", letter)
    return text


# lists as the kernel keeps them: a version, then tag, bits and number of each entry


@lru_cache(maxsize=4096)
def unpacked(raw: bytes) -> Acl:
    """The list that the kernel keeps in an attribute.  Raises Rejected."""
    base, named = dict[int, int](), dict[Name, int]()
    try:
        if struct.unpack_from("<I", raw)[0] != 2:
            raise ValueError
        for tag, bits, number in struct.iter_unpack("<HHI", raw[4:]):
            if tag in (_USER, _GROUP):
                named["user" if tag == _USER else "group", str(number)] = bits
            else:
                base[tag] = bits
        return Acl(base[_OWNER], base[_GROUP_OWNER], base[_OTHER], base.get(_MASK), named)
    except (struct.error, KeyError, ValueError):
        raise Rejected("its access list is of a form that is not known") from None


def packed(acl: Acl) -> bytes:
    """The list as the kernel wants it: in the order of tags, then of numbers."""
    entries = [(_OWNER, acl.owner, _NOBODY), (_GROUP_OWNER, acl.group, _NOBODY), (_OTHER, acl.other, _NOBODY)]
    if acl.mask is not None:
        entries.append((_MASK, acl.mask, _NOBODY))
    for (kind, number), bits in acl.named.items():
        entries.append((_USER if kind == "user" else _GROUP, bits, int(number)))
    ordered = sorted(entries, key=lambda entry: (entry[0], entry[2]))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in ordered)


def _plain_acl(mode: int) -> Acl:
    return Acl(mode >> 6 & 7, mode >> 3 & 7, mode & 7)


# the moment that something was made, which Python does not tell


_BIRTH, _EMPTY_PATH = 0x800, 0x1000


def folder_source(path: str) -> Source:
    """What a folder is known by, whatever leads to it.  Raises BackendError."""
    root = Path_(os.path.realpath(path))
    numbers = []
    for folder in (root, *root.parents):
        with telling():
            handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status, born = os.fstat(handle), _born(handle)
        finally:
            os.close(handle)
        # the number of a device may be another after the next start
        numbers.append(f"folder {status.st_ino}" + (f" born {born:x}" if born else f" on {status.st_dev}"))
    return Source(numbers[0], tuple(numbers[1:]))


def _born(folder: int) -> int:
    """Nanoseconds; 0 where the file system does not know."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    buffer = ctypes.create_string_buffer(256)
    if statx is None or statx(folder, b"", _EMPTY_PATH, _BIRTH, buffer) != 0:
        return 0
    if not struct.unpack_from("<I", buffer)[0] & _BIRTH:
        return 0
    seconds, nanoseconds = struct.unpack_from("<qI", buffer, 80)
    return int(seconds * 1_000_000_000 + nanoseconds)
