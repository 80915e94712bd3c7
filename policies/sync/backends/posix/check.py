"""What a person should know about a tree of files of this machine before it is trusted to sync."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from lakewarden.backends.base import Finding
from policies.sync.backends.files.mark_store import forgeable
from policies.sync.backends.posix.tree import ACCESS, PosixTree

_FOWNER = 1 << 3  # CAP_FOWNER: may change access lists of what others own
_SYS_ADMIN = 1 << 21  # CAP_SYS_ADMIN: may keep marks where nobody else can write them


def check(tree: PosixTree) -> Iterator[Finding]:
    """Findings in words; those that block come with what to do about it."""
    try:
        status = os.stat(tree.root)
    except OSError as error:
        yield Finding(
            ok=False, text=f"{tree.root} cannot be read: {os.strerror(error.errno or 0)}", blocks=True
        )
        return
    if not stat.S_ISDIR(status.st_mode):
        yield Finding(ok=False, text=f"{tree.root} is not a folder", blocks=True)
        return
    yield Finding(ok=True, text=f"{tree.root} is there, seen as {_name(os.geteuid())}")
    yield from _power(tree, status)
    yield from _keeps(tree)
    yield from _marks(tree)
    yield from _way(tree)
    if status.st_mode & stat.S_IXOTH:
        text = f"everyone may enter {tree.root}, so USE_CATALOG keeps nobody out: chmod o-rwx"
        yield Finding(ok=False, text=text)


def _power(tree: PosixTree, status: os.stat_result) -> Iterator[Finding]:
    who = _name(os.geteuid())
    if os.geteuid() == 0 or _capabilities() & _FOWNER:
        yield Finding(ok=True, text=f"{who} may change access lists of everything in it")
    elif status.st_uid == os.geteuid():
        text = (
            f"{who} owns the tree but is not root: what others own in it, such as files that people wrote, "
            "keeps the access list it has; run the workers as root or with CAP_FOWNER and CAP_DAC_READ_SEARCH"
        )
        yield Finding(ok=False, text=text)
    else:
        text = (
            f"{who} neither owns {tree.root} nor is root: run the workers as its owner "
            f"({_name(status.st_uid)}), as root, or with CAP_FOWNER and CAP_DAC_READ_SEARCH"
        )
        yield Finding(ok=False, text=text, blocks=True)


def _keeps(tree: PosixTree) -> Iterator[Finding]:
    """Whether the file system keeps access lists and our mark."""
    for name, what in (
        (ACCESS, "access lists (acl)"),
        (f"user.{tree.kept.name}", "attributes of users (user_xattr)"),
    ):
        try:
            os.getxattr(tree.root, name)
        except OSError as error:
            if error.errno != errno.ENODATA:
                text = f"it is mounted without {what}: {os.strerror(error.errno or 0)}"
                yield Finding(ok=False, text=text, blocks=True)
                continue
        yield Finding(ok=True, text=f"it keeps {what}")
    if os.statvfs(tree.root).f_flag & os.ST_RDONLY:
        yield Finding(ok=False, text="it is mounted read only", blocks=True)


def _marks(tree: PosixTree) -> Iterator[Finding]:
    """Whether those whom marks concern could forge them."""
    text = forgeable(tree.kept)
    if not text and not _capabilities() & _SYS_ADMIN:
        text = (
            f"{_name(os.geteuid())} lacks CAP_SYS_ADMIN: people who may write in a folder can forge "
            "its marks and keep a right that is taken"
        )
    if text:
        yield Finding(ok=False, text=text)


def _way(tree: PosixTree) -> Iterator[Finding]:
    """Folders above the root are not ours to open."""
    for above in Path(tree.root).parents:
        if not above.stat().st_mode & stat.S_IXOTH:
            text = (
                f"{above} is closed to others, so people come to {tree.root} only if it is opened: chmod o+x"
            )
            yield Finding(ok=False, text=text)


def _capabilities() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"
