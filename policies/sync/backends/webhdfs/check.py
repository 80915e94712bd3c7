"""What a person should know about a tree in HDFS before it is trusted to sync."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.backends.base import Finding
from policies.sync.backends.files.acl import ENTER
from policies.sync.backends.files.mark_store import forgeable
from policies.sync.backends.webhdfs.tree import HdfsTree


def check(tree: HdfsTree) -> Iterator[Finding]:
    """Findings in words; what HDFS refuses is raised in its own words."""
    folder, who = "/" + "/".join(tree.at.path), tree.at.user or "the token's holder"
    with tree.top(()) as root:
        yield Finding(ok=True, text=f"{folder} is there, seen as {who}")
        tree.mark(root)
        yield Finding(ok=True, text="its attributes can be read")
        tree.acl_of(root)
        yield Finding(ok=True, text="it keeps access lists")
        if root.owner != tree.at.user:
            text = (
                f"{folder} is {root.owner}'s: {who} must be a superuser of HDFS, as only the owner of a file "
                "and a superuser may change its list"
            )
            yield Finding(ok=False, text=text)
        if root.access.other & ENTER:
            text = f"everyone may enter {folder}, so USE_CATALOG keeps nobody out: hdfs dfs -chmod o-rwx"
            yield Finding(ok=False, text=text)
    if text := forgeable(tree.kept):
        yield Finding(ok=False, text=text)
    if not tree.at.tls and tree.at.secret:
        yield Finding(ok=False, text="the token travels unencrypted: connect by swebhdfs://")
