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
    return sorted(entries, key=lambda one: (one.scope, TYPES.index(one.type), one.name))


def parsed(text: str, *, bits: bool) -> list[Entry]:
    """A spec; the bits are asked for where entries are set, and refused where they are removed."""
    found = []
    for part in text.split(","):
        match = PATTERN.fullmatch(part)
        if match is None:
            raise IllegalArgumentException(f'Invalid value for webhdfs parameter "aclspec": {part}')
        scope, type, name, letters = match.groups()
        if bits and letters is None:
            raise IllegalArgumentException(f"Invalid <aclSpec> : {part}")
        number = sum(bit for bit, letter in zip((4, 2, 1), letters or "---", strict=True) if letter != "-")
        found.append(Entry("default" if scope else "access", type, name or "", number))
    if len(found) > MOST:
        raise AclException(
            f"Invalid ACL: ACL spec has {len(found)} entries, which exceeds maximum of {MOST}."
        )
    return found


def merged(acl: Acl, spec: list[Entry]) -> Acl:
    """MODIFYACLENTRIES: these are put in, all others stay."""
    by_key = {one.key: one for one in spec}
    kept = [by_key.get(one.key, one) for one in acl]
    fresh = [one for one in spec if one.key not in {old.key for old in acl}]
    return _built(
        [*kept, *fresh], {one.scope for one in spec}, {one.scope for one in spec if one.type == "mask"}
    )


def filtered(acl: Acl, spec: list[Entry]) -> Acl:
    """REMOVEACLENTRIES: these go; the mask is made anew where anything went."""
    keys = {one.key for one in spec}
    gone = [one for one in acl if one.key in keys]
    return _built(
        [one for one in acl if one.key not in keys],
        {one.scope for one in gone},
        {one.scope for one in gone if one.type == "mask"},
    )


def replaced(acl: Acl, spec: list[Entry]) -> Acl:
    """SETACL: each scope that is named is replaced as a whole, the other stays."""
    scopes = {one.scope for one in spec}
    masks = {one.scope for one in spec if one.type == "mask"}
    return _built([*spec, *(one for one in acl if one.scope not in scopes)], scopes, masks)


def _built(entries: list[Entry], touched: set[str], masked: set[str]) -> Acl:
    rest = [one for one in entries if one.type != "mask"]
    masks = {one.scope: one for one in entries if one.type == "mask"}
    rest += _missing_defaults(rest)
    for scope in sorted({one.scope for one in rest}):
        inside = [one for one in rest if one.scope == scope]
        needed = any(one.name for one in inside)
        if needed and scope in masked and scope not in masks:
            raise AclException("Invalid ACL: mask is required, but it was deleted.")
        if scope in masks and (scope not in touched or scope in masked):
            rest.append(masks[scope])
        elif needed:
            union = 0
            for one in inside:
                union |= one.bits if one.type == "group" or one.name else 0
            rest.append(Entry(scope, "mask", "", union))
    return _valid(ordered(rest))


def _missing_defaults(entries: list[Entry]) -> list[Entry]:
    """The base of a default list comes from the access list where the spec has none."""
    if not any(one.scope == "default" for one in entries):
        return []
    there = {one.type for one in entries if one.scope == "default" and not one.name}
    return [
        Entry("default", one.type, "", one.bits)
        for one in entries
        if one.scope == "access" and not one.name and one.type not in there
    ]


def _valid(entries: list[Entry]) -> Acl:
    for scope in ("access", "default"):
        number = sum(one.scope == scope for one in entries)
        if number > MOST:
            raise AclException(
                f"Invalid ACL: ACL has {number} {scope} entries, which exceeds maximum of {MOST}."
            )
        base = {one.type for one in entries if one.scope == scope and not one.name}
        if number and not {"user", "group", "other"} <= base:
            kind = "default ACL" if scope == "default" else "ACL"
            raise AclException(f"Invalid {kind}: the user, group and other entries are required.")
    if len({one.key for one in entries}) != len(entries):
        raise AclException("Invalid ACL: multiple entries with same scope, type and name.")
    for one in entries:
        if one.name and one.type in ("mask", "other"):
            raise AclException(f"Invalid ACL: this entry type must not have a name: {one}.")
    return tuple(entries)
