"""From a generation's table of policies to a law that can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from lakewarden.law.conditions import (
    ANYTHING,
    ASKED,
    PARENT,
    All,
    AnyOf,
    Condition,
    below,
    held,
    owns,
    service_admin,
)
from lakewarden.law.dialects.base import Listing, Operation, Privilege
from lakewarden.law.dialects.cdap.authorizable import INSTANCE, TYPES
from lakewarden.law.dialects.cdap.requirements import OR_ABOVE, OR_BELOW, Requirement, Row
from lakewarden.law.dialects.cdap.subjects43 import Part
from lakewarden.law.dialects.patterns import Conditional, TextDialect

OTHER, ROLE = "other", "role"
IN_NAMESPACE = tuple(sorted(set(TYPES) - {"namespace", "program", "kerberosprincipal"}))
WITH_DATA = ("dataset", "stream")
ABOVE: Mapping[str, tuple[str, ...]] = {
    INSTANCE: (),
    "namespace": (INSTANCE,),
    "kerberosprincipal": (INSTANCE,),
    "program": ("application", "namespace", INSTANCE),
    **dict.fromkeys(IN_NAMESPACE, ("namespace", INSTANCE)),
}
"""What stands above an entity, nearest first."""

_PRIVILEGES = (
    ("READ", "Read", "Read what is in the entity", "read"),
    ("WRITE", "Write", "Write into the entity", "write"),
    ("EXECUTE", "Execute", "Run programs", "use"),
    ("ADMIN", "Administer", "Create, change and delete the entity", "manage"),
    ("ALL", "Everything", "All of the four above", "manage"),
)


def privileges(codes: Sequence[str], types: Iterable[str]) -> dict[str, Privilege]:
    binds = frozenset(types)
    rows = (row for row in _PRIVILEGES if row[0] in codes)
    return {
        code: Privilege(code, 1 << place, label, description, binds, category)
        for place, (code, label, description, category) in enumerate(rows)
    }


def condition(requires: Iterable[Requirement], asked: str) -> Condition:
    """What all the requirements together come to, of an entity of the type that is asked about."""
    parts = tuple(_condition_of(each, asked) for each in requires if not each.every)
    return parts[0] if len(parts) == 1 else All(parts)


def either(requires: Iterable[Requirement], asked: str) -> Condition:
    return AnyOf(tuple(_condition_of(each, asked) for each in requires))


def _condition_of(requirement: Requirement, action: str) -> Condition:
    type = requirement.type
    levels = (type, *ABOVE.get(type, ())) if requirement.scope == OR_ABOVE else (type,)
    conditions = [_held(requirement, ASKED if level == action else level) for level in levels]
    if requirement.scope == OR_BELOW:
        conditions.append(below)
    return conditions[0] if len(conditions) == 1 else AnyOf(_flat(conditions))


def _held(requirement: Requirement, on: str) -> Condition:
    atoms = tuple(held(code, on) for code in requirement.privileges)
    if len(atoms) == 1:
        return atoms[0]
    return AnyOf(atoms) if requirement.any else All(atoms)


def _flat(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    flat_conditions: list[Condition] = []
    for each in conditions:
        flat_conditions.extend(each.parts if isinstance(each, AnyOf) else (each,))
    return tuple(flat_conditions)


Conditions = Mapping[str, Mapping[tuple[str, str], Conditional]]


def operations_of(row: Row) -> tuple[list[Operation], dict[tuple[str, str], Conditional]]:
    """The operation of a row, one more for each condition it knows, and how a question picks those."""
    always = [each for each in row.requires if not each.condition]
    operations = [_operation(row.id, row.asked, always)]
    picked: dict[tuple[str, str], Conditional] = {}
    for when in dict.fromkeys(each.condition for each in row.requires if each.condition):
        [extra] = [each for each in row.requires if each.condition == when]
        name = f"{row.id} [{when}]"
        operations.append(_operation(name, row.asked, [*always, extra], beside=extra.type))
        picked[when, ""] = Conditional(name, extra.type, extra.name)
    return operations, picked


def _operation(name: str, action: str, requires: Sequence[Requirement], beside: str = "") -> Operation:
    every = [each for each in requires if each.every]
    types = tuple(each.type for each in every)
    return Operation(
        name,
        label(name),
        {action: condition(requires, action)},
        beside=beside,
        each=every[0].privileges[0] if every else "",
        every=(*IN_NAMESPACE, "program") if types == ("entity",) else types,
    )


def operations_of_table(
    name: str, parts: Sequence[Part]
) -> tuple[list[Operation], dict[tuple[str, str], Conditional]]:
    """Each requirement of a table about several users as a question about its own entity.

    Asked without its condition, a type of entity needs everything the table ever asks of it.
    """
    picks: dict[tuple[str, str], list[Requirement]] = {}
    for part in parts:
        requirement = part.requirement
        picks.setdefault((requirement.condition, ""), []).append(requirement)
        picks.setdefault((requirement.condition, requirement.subject), []).append(requirement)
    whole = _by_type(name, [part.requirement for part in parts])
    operations = [whole]
    picked = {}
    for (when, subject), requires in picks.items():
        words = f"{name} [{when}; {subject}]" if subject else f"{name} [{when}]"
        operations.append(_by_type(words, requires))
        picked[when, subject] = Conditional(words)
    return operations, picked


def _by_type(name: str, requires: Sequence[Requirement]) -> Operation:
    types = dict.fromkeys(each.type for each in requires)
    conditions = {type: condition([each for each in requires if each.type == type], type) for type in types}
    return Operation(name, label(name), conditions)


def label(name: str) -> str:
    words = name.replace("_", " ").replace(".", ": ", 1)
    return words if words.isupper() else words[0].upper() + words[1:]


Plain = Callable[[str], Condition]
"""What an operation takes that no table lists, on an entity of a type."""


def plain_operations(codes: Sequence[str], plain: Mapping[str, Plain], scope: str) -> list[Operation]:
    """Questions about a privilege itself, and about what can be done to every type of entity."""
    types = (INSTANCE, *TYPES)
    operations = [
        Operation(
            code,
            label(code),
            {type: _condition_of(Requirement((code,), f"{type}:", scope=scope), type) for type in types},
        )
        for code in codes
    ]
    both = {
        type: _condition_of(Requirement(("READ", "WRITE"), f"{type}:", scope=scope), type)
        for type in WITH_DATA
    }
    operations.append(Operation("READ_WRITE", "Read and write", both))
    operations += [
        Operation(name, label(name), {type: by(type) for type in TYPES}) for name, by in plain.items()
    ]
    operations.append(Operation("look", "Look", dict.fromkeys((INSTANCE, *ABOVE["program"], ROLE), ANYTHING)))
    return operations


def office(administrator: Condition, granting: Plain) -> list[Operation]:
    """Who may say who may do what."""
    grant = {type: administrator | granting(type) for type in (INSTANCE, *TYPES)}
    return [
        Operation("grant", "Grant and revoke", {**grant, ROLE: administrator}, access_control=True),
        Operation("role.create", "Make roles", {INSTANCE: administrator}, access_control=True),
        Operation("role.list", "See roles", {INSTANCE: administrator}, access_control=True),
        Operation("role.assign", "Assign roles", {ROLE: administrator}, access_control=True),
        Operation("role.delete", "Delete roles", {ROLE: administrator}, access_control=True),
        Operation("set_owner", "Set the owner", {INSTANCE: OWNER | service_admin}, access_control=True),
    ]


OWNER = owns(INSTANCE)
"""Whoever administers the backend of authorization."""

_MADE = ("create", "add", "deploy")
_GONE = ("delete", "drop")


def actions_of(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Plain names for what can be done to each type, and the operations of its table that they mean."""
    action_names = frozenset(names)

    def means(type: str, words: Sequence[str], otherwise: str) -> str:
        return next((f"{type}.{word}" for word in words if f"{type}.{word}" in action_names), otherwise)

    actions = {
        type: {
            "read": means(type, ("read",), "READ"),
            "write": means(type, ("write",), "WRITE"),
            "execute": means(type, ("start",), "EXECUTE"),
            "use": means(type, ("list",), "list"),
            f"create_{type}": means(type, _MADE, "create"),
            "alter": means(type, ("update",), "update"),
            "drop": means(type, _GONE, "delete"),
            "grant": "grant",
        }
        for type in TYPES
    }
    for type in TYPES:
        if type != "program":
            del actions[type]["execute"]
    of_the_instance = {"use": "look", "read": "look", "grant": "grant", "set_owner": "set_owner"}
    return {
        INSTANCE: of_the_instance,
        ROLE: {"use": "look", "read": "look", "grant": "role.assign"},
        **actions,
    }


def listings_of(operations: Mapping[str, Operation], administrator: Condition) -> dict[str, Listing]:
    def shown(type: str) -> Condition:
        named = operations.get(f"{type}.list")
        return (named or operations["list"]).conditions[type]

    gates = dict.fromkeys((INSTANCE, "namespace", "application"), "look")
    return {
        INSTANCE: Listing(INSTANCE, ANYTHING, {}),
        ROLE: Listing(ROLE, administrator, gates),
        **{type: Listing(type, shown(type), gates) for type in TYPES},
    }


def built(
    code: str,
    codes: Sequence[str],
    operations: Sequence[Operation],
    conditional: Conditions,
    *,
    administrator: Condition,
    other: str = "",
    inherits: bool = False,
) -> TextDialect:
    """The law of a generation."""
    by_name = {each.name: each for each in operations}
    actions, listings = actions_of(by_name), listings_of(by_name, administrator)
    if other:
        actions[other] = {"use": f"{other}.list", "read": f"{other}.get"}
        listings[other] = Listing(other, by_name[f"{other}.list"].conditions[other], {})
    more = (other,) if other else ()
    types = (INSTANCE, *TYPES, *more)
    return TextDialect(
        code=code,
        kind="cdap",
        root_type=INSTANCE,
        children={
            INSTANCE: ("namespace", "kerberosprincipal", ROLE, *more),
            "namespace": (*IN_NAMESPACE, *more),
            "application": ("program",),
            **{
                type: ()
                for type in (*IN_NAMESPACE, "program", "kerberosprincipal", ROLE, *more)
                if type != "application"
            },
        },
        privileges=privileges(codes, types),
        aliases={},
        operations=by_name,
        listings=listings,
        actions=actions,
        grantees=frozenset({"user", "group", "service"}),
        open_to_all=True,
        implied={"ALL": frozenset(set(codes) - {"ALL"})} if "ALL" in codes else {},
        conditional=conditional,
        other=other,
        inherits=inherits,
    )


__all__ = [
    "ABOVE",
    "ASKED",
    "PARENT",
    "built",
    "condition",
    "either",
    "office",
    "operations_of",
    "plain_operations",
]
