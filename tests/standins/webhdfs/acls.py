"""HDFS's rules for access lists: what a spec does to a list, which mask follows, what is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 32
PATTERN = re.compile(r"(default:)?(user|group|mask|other):([A-Za-z_][A-Za-z0-9._-]*)?:([r-][w-][x-])?")
TYPES = ("user", "group", "mask", "other")


class AclException(Exception):
    """A list that HDFS does not keep."""


class IllegalArgumentException(Exception):
    """A parameter that WebHDFS does not take."""


@dataclass(frozen=True)
class Entry:
    scope: str  # access or default
    type: str
    name: str
    bits: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.scope, self.type, self.name

    def __str__(self) -> str:
        letters = "".join(
            letter if self.bits & bit else "-" for bit, letter in ((4, "r"), (2, "w"), (1, "x"))
        )
        return f"{'default:' if self.scope == 'default' else ''}{self.type}:{self.name}:{letters}"


Acl = tuple[Entry, ...]


def ordered(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.scope, TYPES.index(entry.type), entry.name))


def parsed(text: str, *, bits: bool) -> list[Entry]:
    """A spec; the bits are asked for where entries are set, and refused where they are removed."""
    entries = []
    for part in text.split(","):
        match = PATTERN.fullmatch(part)
        if match is None:
            raise IllegalArgumentException(f'Invalid value for webhdfs parameter "aclspec": {part}')
        scope, type, name, letters = match.groups()
        if bits and letters is None:
            raise IllegalArgumentException(f"Invalid <aclSpec> : {part}")
        number = sum(bit for bit, letter in zip((4, 2, 1), letters or "---", strict=True) if letter != "-")
        entries.append(Entry("default" if scope else "access", type, name or "", number))
    if len(entries) > MOST:
        raise AclException(
            f"Invalid ACL: ACL spec has {len(entries)} entries, which exceeds maximum of {MOST}."
        )
    return entries


def merged(acl: Acl, spec: list[Entry]) -> Acl:
    """MODIFYACLENTRIES: these are put in, all others stay."""
    by_key = {item.key: item for item in spec}
    kept = [by_key.get(item.key, item) for item in acl]
    fresh = [item for item in spec if item.key not in {old.key for old in acl}]
    return _built(
        [*kept, *fresh], {item.scope for item in spec}, {item.scope for item in spec if item.type == "mask"}
    )


def filtered(acl: Acl, spec: list[Entry]) -> Acl:
    """REMOVEACLENTRIES: these go; the mask is made anew where anything went."""
    keys = {item.key for item in spec}
    gone = [item for item in acl if item.key in keys]
    return _built(
        [item for item in acl if item.key not in keys],
        {item.scope for item in gone},
        {item.scope for item in gone if item.type == "mask"},
    )


def replaced(acl: Acl, spec: list[Entry]) -> Acl:
    """SETACL: each scope that is named is replaced as a whole, the other stays."""
    scopes = {item.scope for item in spec}
    masks = {item.scope for item in spec if item.type == "mask"}
    return _built([*spec, *(item for item in acl if item.scope not in scopes)], scopes, masks)


def _built(entries: list[Entry], touched: set[str], masked: set[str]) -> Acl:
    rest = [entry for entry in entries if entry.type != "mask"]
    masks = {entry.scope: entry for entry in entries if entry.type == "mask"}
    rest += _missing_defaults(rest)
    for scope in sorted({item.scope for item in rest}):
        inside = [item for item in rest if item.scope == scope]
        needed = any(item.name for item in inside)
        if needed and scope in masked and scope not in masks:
            raise AclException("Invalid ACL: mask is required, but it was deleted.")
        if scope in masks and (scope not in touched or scope in masked):
            rest.append(masks[scope])
        elif needed:
            union = 0
            for item in inside:
                union |= item.bits if item.type == "group" or item.name else 0
            rest.append(Entry(scope, "mask", "", union))
    return _valid(ordered(rest))


def _missing_defaults(entries: list[Entry]) -> list[Entry]:
    """The base of a default list comes from the access list where the spec has none."""
    if not any(entry.scope == "default" for entry in entries):
        return []
    there = {entry.type for entry in entries if entry.scope == "default" and not entry.name}
    return [
        Entry("default", entry.type, "", entry.bits)
        for entry in entries
        if entry.scope == "access" and not entry.name and entry.type not in there
    ]


def _valid(entries: list[Entry]) -> Acl:
    for scope in ("access", "default"):
        number = sum(entry.scope == scope for entry in entries)
        if number > MOST:
            raise AclException(
                f"Invalid ACL: ACL has {number} {scope} entries, which exceeds maximum of {MOST}."
            )
        base = {entry.type for entry in entries if entry.scope == scope and not entry.name}
        if number and not {"user", "group", "other"} <= base:
            kind = "default ACL" if scope == "default" else "ACL"
            raise AclException(f"Invalid {kind}: the user, group and other entries are required.")
    if len({entry.key for entry in entries}) != len(entries):
        raise AclException("Invalid ACL: multiple entries with same scope, type and name.")
    for entry in entries:
        if entry.name and entry.type in ("mask", "other"):
            raise AclException(f"Invalid ACL: this entry type must not have a name: {entry}.")
    return tuple(entries)
