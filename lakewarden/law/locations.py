"""Where data lies: one spelling for each place, whatever a program calls it."""

from __future__ import annotations

from collections.abc import Iterator

_SAME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs"}
_PORTS = {"hdfs": ":8020", "webhdfs": ":9870", "swebhdfs": ":9871"}
"""What Hadoop adds where an address has no port."""
_OPEN = frozenset("*?[]{}")


def normal(location: str) -> str | None:
    """The one spelling of a place; None for what names no single place, such as a glob or a way upward.

    `s3a://Bucket/x//y/` is `s3://bucket/x/y`; a bare path is a file's.
    """
    scheme, colon, rest = location.partition(":")
    if location.startswith("/"):
        scheme, rest = "file", location
    elif not colon or not scheme or "/" in scheme:
        return None
    scheme = scheme.lower()
    authority = ""
    if rest.startswith("//"):
        authority, _, rest = rest[2:].partition("/")
    elif not rest.startswith("/"):
        return None
    parts = [part for part in rest.split("/") if part]
    if not location.isprintable() or _OPEN.intersection(location) or {".", ".."}.intersection(parts):
        return None
    authority = authority.lower()
    if scheme in _PORTS:
        authority = authority.removesuffix(_PORTS[scheme])
    return "/".join([f"{_SAME.get(scheme, scheme)}://{authority}", *parts])


def above(location: str) -> Iterator[str]:
    """The place itself and every one that it lies in, nearest first; nothing for what names no place."""
    place = normal(location)
    while place is not None:
        yield place
        start, slash, _ = place.rpartition("/")
        place = start if slash and not start.endswith(("/", ":")) else None
