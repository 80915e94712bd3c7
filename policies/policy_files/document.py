"""A policy file: statements grouped as people read them, as YAML that stays the same, and its JSON Schema."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import yaml
from django.utils.translation import gettext

from accounts.text import holdable
from catalog.nodes import Node
from lakewarden.client import policy_trees
from policies.errors import Invalid
from policies.policy_files.statements import (
    GIVES,
    GRANT,
    HOLDER,
    MEMBER,
    OBJECT,
    OWNER,
    ROLE,
    ROLE_OWNER,
    RealmStatements,
    Statement,
    reference_of,
)

FORMAT = 1
EVERYTHING = "everything"
REALM = "realm.yaml"
"""Of a tree the file that says whose it is, what it owns and who is admitted."""
SECTIONS = ("members", "roles", "objects", "texts")
HEADER = (
    "# Access in realm {realm}. What this file owns and does not say is removed; the rest is left alone.\n"
)

_MOMENT = {"type": "string", "format": "date-time"}
_WINDOW = {"from": _MOMENT, "until": _MOMENT}
_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}}


def _with_window(name: str) -> dict[str, Any]:
    """A list of names, each alone or with a window."""
    whole = {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": 1}, **_WINDOW},
        "required": [name],
        "additionalProperties": False,
    }
    return {"type": "array", "items": {"anyOf": [{"type": "string", "minLength": 1}, whole]}}


_PRIVILEGES = {"type": "object", "additionalProperties": _with_window("privilege")}
_ROLE = {
    "type": ["object", "null"],
    "properties": {
        "owner": {"type": "string"},
        "holders": _with_window("principal"),
        "allows": _PRIVILEGES,
        "denies": _PRIVILEGES,
    },
    "additionalProperties": False,
}
_OBJECT = {
    "type": ["object", "null"],
    "properties": {
        "kind": {"type": "string", "description": "of a catalog: relational, fileset, messaging, model"},
        "owner": {"type": "string"},
        "grants": {**_PRIVILEGES, "description": "privileges by principal: user:ana, group:analysts"},
    },
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A policy file of Lakewarden",
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "realm": {"type": "string", "minLength": 1},
        "law": {"type": "string", "description": "the law of the realm that was exported"},
        "owns": {
            **_NAMES,
            "description": "what the file decides alone: everything, members, roles, role:NAME, texts, "
            "or an object with all below it, schema:shop.sales; nothing is removed elsewhere",
        },
        "registers_objects": {
            "type": "boolean",
            "description": "whether objects that are not there are registered",
        },
        "members": _NAMES,
        "roles": {"type": "object", "additionalProperties": _ROLE},
        "objects": {"type": "object", "additionalProperties": _OBJECT},
        "texts": {
            "type": "object",
            "additionalProperties": _PRIVILEGES,
            "description": "in a CDAP realm: privileges by entity or pattern, then by principal",
        },
    },
    "required": ["format", "realm"],
    "additionalProperties": False,
}
_VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@dataclass(frozen=True)
class PolicyFile:
    """What a file says, and of what it decides alone."""

    realm: str
    law: str
    owns: frozenset[str]
    registers_objects: bool
    statements: frozenset[Statement]
    text: str


_Fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_DOCUMENTS = 20_000
"""So many files a tree may have."""
DEEPEST = 12
"""No policy file has more levels in each other."""
MOST_ERRORS = 100
"""So many are looked at for the one that is told."""


class _Loader(_Fast):  # type: ignore[misc,valid-type]  # which of the two the machine has
    """Plain values alone: texts stay texts, and no name stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        if not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
            raise Invalid(gettext("Names in a policy file must be text."))
        names: set[str] = set()
        for key, _ in node.value:
            if key.value in names:
                raise Invalid(
                    gettext("%(name)s appears twice in one place of the file.") % {"name": key.value}
                )
            names.add(key.value)
        return super().construct_mapping(node, deep=deep)


_TEXTS = (":timestamp", ":float", ":int", ":merge", ":value")
"""What YAML would read otherwise and is a text here."""
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in some if not tag.endswith(_TEXTS)]
    for first, some in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# those of YAML may be as long as the file, and to the base of sixty
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile("(?:0|[1-9][0-9]{0,8})$"), list("0123456789")
)


def read(text: str) -> PolicyFile:
    """A file from its text, or the files of a tree as documents of one.  Raises Invalid, which names the
    place.
    """
    try:
        _check_events(text)
        every = yaml.load_all(text, Loader=_Loader)  # safe: a subclass of SafeLoader
        documents = list(islice((value for value in every if value is not None), MOST_DOCUMENTS + 1))
    except UnicodeError:
        raise Invalid(gettext("This file contains invalid characters.")) from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        text = (
            gettext("This is not valid YAML: see line %(line)s.")
            if mark
            else gettext("This is not valid YAML.")
        )
        raise Invalid(text % {"line": mark.line + 1 if mark else ""}) from None
    if len(documents) > MOST_DOCUMENTS:
        raise Invalid(gettext("A policy file has at most %(most)s documents.") % {"most": MOST_DOCUMENTS})
    for number, value in enumerate(documents or [None], 1):
        _check(value, number if len(documents) > 1 else 0)
    return _read(_joined(documents), text)


def _check(value: Any, number: int) -> None:
    """Hold a document against the schema; `number` says which of several it is.  Raises Invalid."""
    # each is an object that holds others: of a long list of wrong entries they would fill the memory
    errors = islice(_VALIDATOR.iter_errors(value), MOST_ERRORS)
    error = min(errors, key=lambda each: each.json_path, default=None)
    if error is None:
        return
    place, message = error.json_path, error.message[:300]
    if number:
        raise Invalid(
            gettext("In document %(number)s at %(place)s: %(message)s.")
            % {"number": number, "place": place, "message": message}
        )
    raise Invalid(gettext("At %(place)s: %(message)s.") % {"place": place, "message": message})


def _joined(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several documents, as a tree of files has them, as one that says all of it.  Raises Invalid."""
    whole: dict[str, Any] = {}
    for each in documents:
        for name, value in each.items():
            if name in ("roles", "objects", "texts"):
                section = whole.setdefault(name, {})
                if twice := section.keys() & value.keys():
                    raise Invalid(
                        gettext("%(name)s is described in two documents.") % {"name": min(map(str, twice))}
                    )
                section.update(value)
            elif name in ("owns", "members"):
                whole.setdefault(name, []).extend(value)
            elif whole.setdefault(name, value) != value:
                raise Invalid(
                    gettext("Two documents disagree about %(name)s: %(one)s and %(other)s.")
                    % {"name": name, "one": whole[name], "other": value}
                )
    return whole


def _read(value: Mapping[str, Any], text: str) -> PolicyFile:
    return PolicyFile(
        value["realm"],
        value.get("law", ""),
        frozenset(value.get("owns", ())),
        value.get("registers_objects", False),
        frozenset(_statements(value)),
        text,
    )


def _check_events(text: str) -> None:
    """Refuse what a reader cannot follow, before anything is made of it.  Raises Invalid, YAMLError."""
    depth = 0
    for event in yaml.parse(text, Loader=_Fast):
        if isinstance(event, yaml.AliasEvent):
            raise Invalid(gettext("A policy file repeats nothing by marks (&, *). Write it out."))
        if getattr(event, "tag", None) is not None:
            raise Invalid(gettext("A policy file names no types (!). Write plain texts."))
        if isinstance(event, yaml.ScalarEvent) and not holdable(event.value):
            raise Invalid(gettext("This file contains invalid characters."))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise Invalid(gettext("This policy file is nested too deeply."))


def _statements(value: Mapping[str, Any]) -> Iterable[Statement]:
    for who in value.get("members", ()):
        yield Statement(MEMBER, who=who)
    for name, role in value.get("roles", {}).items():
        yield from _of_role(str(name), role or {})
    for target, details in value.get("objects", {}).items():
        yield from _of_object(target, details or {}, registers=value.get("registers_objects", False))
    for target, grants in value.get("texts", {}).items():
        yield from _grants(target, grants)


def _of_role(name: str, role: Mapping[str, Any]) -> Iterable[Statement]:
    yield Statement(ROLE, role=name)
    if "owner" in role:
        yield Statement(ROLE_OWNER, role=name, who=role["owner"])
    for who, start, end in _windows(role.get("holders", ()), "principal"):
        yield Statement(HOLDER, role=name, who=who, start=start, end=end)
    for effect, field in (("allow", "allows"), ("deny", "denies")):
        for target, some in role.get(field, {}).items():
            for code, start, end in _windows(some, "privilege"):
                yield Statement(GIVES, name, target, "", code, effect, start, end)


def _of_object(target: str, details: Mapping[str, Any], *, registers: bool) -> Iterable[Statement]:
    if registers and ":" in target:
        yield Statement(OBJECT, target=target, code=details.get("kind", ""))
    if "owner" in details:
        yield Statement(OWNER, target=target, who=details["owner"])
    yield from _grants(target, details.get("grants", {}))


def _grants(target: str, grants: Mapping[str, Any]) -> Iterable[Statement]:
    for who, some in grants.items():
        for code, start, end in _windows(some, "privilege"):
            yield Statement(GRANT, target=target, who=who, code=code, start=start, end=end)


def _windows(some: Iterable[Any], name: str) -> Iterable[tuple[str, str, str]]:
    for each in some:
        if isinstance(each, str):
            yield each, "", ""
        else:
            yield each[name], _moment(each.get("from", "")), _moment(each.get("until", ""))


def _moment(text: str) -> str:
    """A time as it is compared: in UTC, to the second and below.  Raises Invalid."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            gettext("%(text)s is not a time such as 2026-01-31T12:00:00+00:00.") % {"text": text}
        ) from None
    if moment.tzinfo is None:
        raise Invalid(gettext("%(text)s lacks its time zone, such as +00:00.") % {"text": text})
    return moment.astimezone(UTC).isoformat()


# writing


def write(root: Node, present: RealmStatements, *, objects: bool = True) -> str:
    """A realm as a file, in the same order each time, so that two exports differ by what changed."""
    kept = (item for item in present.statements if objects or item.kind != OBJECT)
    return text_of(root.name, root.kind, kept, owns=(EVERYTHING,), registers_objects=objects)


def tree_of(root: Node, present: RealmStatements, *, objects: bool = True) -> str:
    """A realm as the files of a tree: documents of one text, each below its path as a comment.

    One for the realm and its members, one for each role, and for each catalog, namespace or the like.
    """
    by_path: dict[str, list[Statement]] = defaultdict(list)
    paths = policy_trees.Paths()
    for statement in sorted(item for item in present.statements if objects or item.kind != OBJECT):
        by_path[paths.of(*_part_of(root, statement))].append(statement)
    head: dict[str, Any] = {"format": FORMAT, "realm": root.name}
    of_realm = {**head, "law": root.kind, "owns": [EVERYTHING]}
    if objects:
        of_realm["registers_objects"] = True
    first = HEADER.format(realm=root.name) + _dumped(of_realm, root.kind, by_path.pop(REALM, ()))
    parts = {path: _dumped(head, root.kind, by_path[path]) for path in sorted(by_path)}
    return policy_trees.joined({REALM: first, **parts})


def _part_of(root: Node, statement: Statement) -> tuple[str, str]:
    """In which folder, and of what, the file of a statement is; of the realm itself in none."""
    if statement.role:
        return "roles", statement.role
    path = reference_of(root, statement.target).path if statement.target else ()
    if not path:
        return "", REALM
    of_text = statement.kind == GRANT and root.kind.startswith("cdap")
    return "texts" if of_text else "objects", path[0]


def text_of(
    realm: str, law: str, some: Iterable[Statement], *, owns: Sequence[str], registers_objects: bool
) -> str:
    """Statements as a file."""
    head: dict[str, Any] = {"format": FORMAT, "realm": realm}
    if law:
        head["law"] = law
    if owns:
        head["owns"] = list(owns)
    if registers_objects:
        head["registers_objects"] = True
    return HEADER.format(realm=realm) + _dumped(head, law, some)


def sections_of(law: str, some: Iterable[Statement]) -> str:
    """The same without what stands at the head of a file; empty for no statements."""
    there = list(some)
    return _dumped({}, law, there) if there else ""


def _dumped(head: dict[str, Any], law: str, some: Iterable[Statement]) -> str:
    value: dict[str, Any] = {"law": law}
    for statement in sorted(some):
        _add(value, statement)
    sections = {name: _sorted(value[name]) for name in SECTIONS if name in value}
    ordered = {**{name: _sorted(each) for name, each in head.items()}, **sections}
    return yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


class _Dumper(yaml.SafeDumper):
    """Lists of names stand indented below their name; nothing is repeated by a mark."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _add(value: dict[str, Any], statement: Statement) -> None:
    match statement.kind:
        case "member":
            value.setdefault("members", []).append(statement.who)
        case "role":
            value.setdefault("roles", {}).setdefault(statement.role, {})
        case "role_owner":
            _role(value, statement)["owner"] = statement.who
        case "holder":
            _role(value, statement).setdefault("holders", []).append(
                _named(statement, "principal", statement.who)
            )
        case "gives":
            side = "allows" if statement.effect == "allow" else "denies"
            targets = _role(value, statement).setdefault(side, {})
            targets.setdefault(statement.target, []).append(_named(statement, "privilege", statement.code))
        case "object":
            details = value.setdefault("objects", {}).setdefault(statement.target, {})
            if statement.code:
                details["kind"] = statement.code
        case "owner":
            value.setdefault("objects", {}).setdefault(statement.target, {})["owner"] = statement.who
        case "grant":
            _grants_of(value, statement).setdefault(statement.who, []).append(
                _named(statement, "privilege", statement.code)
            )


def _role(value: dict[str, Any], statement: Statement) -> dict[str, Any]:
    role: dict[str, Any] = value.setdefault("roles", {}).setdefault(statement.role, {})
    return role


def _grants_of(value: dict[str, Any], statement: Statement) -> dict[str, Any]:
    by_text = value["law"].startswith("cdap")
    if by_text:
        grants: dict[str, Any] = value.setdefault("texts", {}).setdefault(statement.target, {})
    else:
        grants = value.setdefault("objects", {}).setdefault(statement.target, {}).setdefault("grants", {})
    return grants


def _named(statement: Statement, field: str, name: str) -> Any:
    window = {key: text for key, text in (("from", statement.start), ("until", statement.end)) if text}
    return {field: name, **window} if window else name


_FIRST = ("kind", "owner", "holders", "allows", "denies", "grants", "principal", "privilege", "from", "until")


def _sorted(value: Any) -> Any:
    """The same with names in order; what describes one thing stands in the order of its description."""
    if isinstance(value, dict):
        ordered = sorted(
            value, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
        )
        return {name: _sorted(value[name]) for name in ordered}
    if isinstance(value, list):
        return [_sorted(each) for each in sorted(value, key=str)]
    return value
