"""A policy file in the making: what was found is said in the law's privileges, or reported as left out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.principals import BadPrincipal
from lakewarden.law.principals import Principal as PrincipalName
from policies.errors import Invalid
from policies.policy_files import document
from policies.policy_files import statements as kinds
from policies.policy_files.statements import Statement

LAW = "gravitino"
Path = tuple[str, ...]
Needs = Mapping[tuple[str, str], frozenset[str]]
"""Which rights of the other system together are a privilege of the law, by privilege and type of object."""
MOST = 200_000
"""So many times one file may give something to somebody: a short one can name very many at once."""
TOLD = 2000
"""So many letters are told of one thing that is left out."""
NOTHING_LIKE_IT = "No privilege of the law says just this; the nearest would give more."
LEAVES = {"table": "relational", "fileset": "fileset", "topic": "messaging", "model": "model"}
"""What kind of catalog holds them."""
READS = frozenset(("select", "show", "SELECT"))


@dataclass(frozen=True)
class LeftOut:
    """Something that the file does not say, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Right:
    """One right as it was found; `holder` is user:NAME, group:NAME, service:NAME or role:NAME."""

    holder: str
    type: str
    path: Path
    right: str
    deny: bool = False


@dataclass
class Draft:
    """Statements for a realm.  `left_out` is what could not be said, `added` what was said beyond the source.

    Nothing that was read is in neither.
    """

    realm: str
    catalog: str = ""
    statements: set[Statement] = field(default_factory=set)
    left_out: list[LeftOut] = field(default_factory=list)
    added: list[LeftOut] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    """Of the objects that have one; a dump names one for each of very many."""
    counted: int = 0

    def count(self, many: int) -> None:
        """Before something is given so many times.  Raises Invalid."""
        self.counted += many
        if self.counted > MOST:
            raise Invalid(
                gettext("This grants something more than %(most)s times. Split it into several files.")
                % {"most": MOST}
            )

    def leave_out(self, what: str, why: str = NOTHING_LIKE_IT) -> None:
        self.left_out.append(LeftOut(what[:TOLD], why))

    def text(self) -> str:
        """The file.  It owns nothing, so it only adds."""
        # what each catalog holds, by what stands in it and what is given there
        kinds_of: dict[str, str] = {}
        for item in self.statements:
            type_, _, name = item.target.partition(":")
            privilege = (
                dialects.get(LAW).privilege(item.code) if item.kind in (kinds.GRANT, kinds.GIVES) else None
            )
            kind = privilege.kind if privilege is not None else LEAVES.get(type_, "")
            if name and kind:
                path = ObjectRef.parse(type_, f"{self.realm}/{name}").path
                kinds_of[f"catalog:{ObjectRef('catalog', self.realm, path[:1]).full_name}"] = kind
        some = []
        for item in self.statements:
            is_catalog = item.kind == kinds.OBJECT and item.target.startswith("catalog:")
            kind = kinds_of.get(item.target, "relational")
            some.append(item._replace(code=kind) if is_catalog else item)
        return document.text_of(self.realm, LAW, some, owns=(), registers_objects=True)

    def in_catalog(self, *path: str) -> Path:
        """The path of something whose source knows no catalogs.  Raises Invalid."""
        if not self.catalog:
            raise Invalid(gettext("Name the catalog for the schemas of this source."))
        return (self.catalog, *path)

    # who

    def member(self, who: str) -> bool:
        """Admit somebody; False where the name is none."""
        try:
            PrincipalName.parse(who)
        except BadPrincipal as problem:
            self.leave_out(who, f"{str(problem).capitalize()}.")
            return False
        self.statements.add(Statement(kinds.MEMBER, who=who))
        return True

    def role(self, name: str) -> None:
        self.statements.add(Statement(kinds.ROLE, role=name))

    def holds(self, who: str, role: str) -> None:
        """Let somebody hold a role."""
        self.role(role)
        if self.member(who):
            self.statements.add(Statement(kinds.HOLDER, role=role, who=who))

    # what

    def object(self, type_: str, path: Path) -> str:
        """The name that files have for an object, which is registered with all above it.  Raises BadName."""
        if not path:
            return dialects.get(LAW).root_type
        if not all(path) or any(not part.isprintable() for part in path):
            raise BadName(f"{'.'.join(path)} names no object")
        target = f"{type_}:{ObjectRef(type_, self.realm, path).full_name}"
        self.statements.add(
            Statement(
                kinds.OBJECT,
                target=target,
            )
        )
        if len(path) > 1:
            self.object("schema" if len(path) > 2 else "catalog", path[:-1])
        return target

    def owner(self, type_: str, path: Path, who: str) -> None:
        """Let somebody own an object."""
        what = f"{who} owns {type_} {'.'.join(path)}"
        if who.startswith("role:"):
            self.leave_out(what, "An owner is a person, a service or a group.")
            return
        try:
            target = self.object(type_, path)
        except BadName as problem:
            self.leave_out(what, f"{problem}.")
            return
        if (other := self.owners.get(target, who)) != who:
            self.leave_out(what, f"{other} is named as its owner too; it has one.")
        elif self.member(who):
            self.owners[target] = who
            self.statements.add(Statement(kinds.OWNER, target=target, who=who))

    # rights

    def say(self, rights: Iterable[Right], needs: Needs, why: Mapping[str, str] | None = None) -> None:
        """Say rights that were found, those on one object together; what does not fit is left out.

        `why` are reasons for rights that have no like in the law.
        """
        groups: dict[tuple[str, str, Path, bool], set[str]] = defaultdict(set)
        for item in rights:
            groups[item.holder, item.type, item.path, item.deny].add(item.right)
        for (holder, type_, path, deny), codes in sorted(groups.items()):
            covered: set[str] = set()
            for (code, binds), wanted in needs.items():
                wanted = (wanted - READS or wanted) if deny else wanted
                if binds == type_ and wanted <= codes and self._give(holder, type_, path, code, deny=deny):
                    covered |= wanted
            for right in sorted(codes - covered):
                sign = "no " if deny else ""
                what = f"{holder}: {sign}{right} on {type_} {'.'.join(path)}"
                self.leave_out(what, (why or {}).get(right, NOTHING_LIKE_IT))

    def _give(self, holder: str, type_: str, path: Path, code: str, *, deny: bool) -> bool:
        what = f"{holder}: {code} on {type_} {'.'.join(path)}"
        try:
            target = self.object(type_, path)
        except BadName as problem:
            self.leave_out(what, f"{problem}.")
            return True
        kind, _, name = holder.partition(":")
        effect = "deny" if deny else "allow"
        if deny and kind != "role":
            name = f"denied_{kind}_{name}"
            self.holds(holder, name)
            self.added.append(LeftOut(f"role {name}", "Only a role can deny; this one is for one holder."))
        elif kind != "role":
            if self.member(holder):
                self.statements.add(Statement(kinds.GRANT, target=target, who=holder, code=code))
            return True
        self.role(name)
        self.statements.add(Statement(kinds.GIVES, role=name, target=target, code=code, effect=effect))
        return True

    def add_the_way(self, why: str, *, schemas: bool = True) -> None:
        """Let who has something in a catalog or schema use it, where the source needs no such right."""
        for item in list(self.statements):
            if item.kind not in (kinds.GRANT, kinds.GIVES) or item.effect == "deny":
                continue
            type_, _, name = item.target.partition(":")
            path = ObjectRef.parse(type_, f"{self.realm}/{name}").path if name else ()
            self._way(item, "catalog", "USE_CATALOG", path[:1], why)
            if schemas:
                self._way(item, "schema", "USE_SCHEMA", path[:2] if len(path) > 1 else (), why)

    def _way(self, item: Statement, type_: str, code: str, path: Path, why: str) -> None:
        if not path:
            return
        given = item._replace(target=self.object(type_, path), code=code, start="", end="")
        if given not in self.statements:
            self.statements.add(given)
            self.added.append(LeftOut(str(given), why))


def check_is_one(what: str, names: Iterable[str]) -> None:
    """What stands in several of them may have the same name, and would be one thing here.  Raises Invalid."""
    some = sorted(set(names))
    if len(some) > 1:
        raise Invalid(
            gettext("This is about several %(what)s: %(names)s. Import each by itself, with its own catalog.")
            % {"what": what, "names": ", ".join(some[:10])}
        )


class NotBuilt(Exception):
    """A file is not built as its source builds them."""


def json_of(text: str, what: str, shape: object) -> Any:
    """The JSON of a file that is built so; a field that is null is absent.  Raises Invalid, NotBuilt."""
    try:
        value = json.loads(text, object_hook=_without_nulls)
    except (ValueError, RecursionError):
        raise Invalid(gettext("This is not valid JSON of %(what)s.") % {"what": what}) from None
    if not is_built(value, shape):
        raise NotBuilt
    return value


def is_built(value: object, shape: object) -> bool:
    """Whether a value of JSON is built as a shape says.

    A dict names fields, which may be absent, and by `...` all others; a list says what each entry is; a tuple
    has several shapes, of which one is enough; and a type is what a value must be.
    """
    if isinstance(shape, tuple):
        return any(is_built(value, each) for each in shape)
    if isinstance(shape, dict):
        fields = value.items() if isinstance(value, dict) else None
        other = shape.get(..., object)
        return fields is not None and all(is_built(field, shape.get(name, other)) for name, field in fields)
    if isinstance(shape, list):
        return isinstance(value, list) and all(is_built(item, shape[0]) for item in value)
    return isinstance(shape, type) and isinstance(value, shape)


def _without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


__all__ = ["Draft", "LeftOut", "Needs", "NotBuilt", "Path", "Right", "check_is_one", "is_built", "json_of"]
