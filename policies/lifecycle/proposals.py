"""What deeds about somebody's things come to as changes of access, to be held against what was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from accounts.models import Principal
from catalog.nodes import Node
from policies.errors import Invalid
from policies.lifecycle.actions import FIRST, LifecycleAction
from policies.services import patterns
from policies.simulation.changes import (
    AddMember,
    AssignRole,
    Change,
    CloseAccount,
    GrantAccess,
    JoinGroup,
    LeaveGroup,
    RemoveMember,
    RevokeAccess,
    SetOwner,
    Target,
    UnassignRole,
)


def of_deeds(
    person: Principal, deeds: Sequence[LifecycleAction], realms: Iterable[Node]
) -> Iterator[tuple[Node, list[Change]]]:
    """The changes in each realm that deeds concern, in the order in which they would be made.

    Groups and accounts belong to the site, so they concern every realm.  A token alone is left out: others
    may open the same.  So is the account of a person: backends and jobs that ask about them go by what they
    have, and do not ask whether they can sign in.
    """
    ordered = sorted(deeds, key=lambda deed: FIRST.index(deed.holding.kind))
    for root in realms:
        in_realm = [deed for deed in ordered if deed.holding.realm_id in (0, root.realm_id)]
        changes = [change for deed in in_realm for change in _changes(root, person, deed)]
        if changes:
            yield root, changes


def _changes(root: Node, person: Principal, deed: LifecycleAction) -> Iterator[Change]:
    held = deed.holding
    match held.kind:
        case "own" if held.node is not None and deed.to is not None:
            yield SetOwner(held.node, deed.to)
        case "give" if held.node is not None:
            yield from _given(Target(held.node), person, deed)
        case "text":
            try:
                yield from _given(Target.of_text(root, patterns.named(root, held.text)), person, deed)
            except Invalid:
                return
        case "role" if held.node is not None:
            if deed.to is not None:
                yield AssignRole(held.node, deed.to, (held.since, held.until))
            if deed.takes:
                yield UnassignRole(held.node, person)
        case "group" if held.other is not None:
            if deed.to is not None:
                yield JoinGroup(held.other, deed.to)
            if deed.takes:
                yield LeaveGroup(held.other, person)
        case "member":
            yield AddMember(deed.to) if deed.to is not None else RemoveMember(person)
        case "account" if person.kind == Principal.Kind.SERVICE:
            yield CloseAccount(person)


def _given(target: Target, person: Principal, deed: LifecycleAction) -> Iterator[Change]:
    held = deed.holding
    if deed.to is not None:
        for grant in held.grants:
            window = (None, None) if target.entity else (grant.valid_from, grant.valid_until)
            yield GrantAccess(target, deed.to, (grant.privilege,), window)
    if deed.takes:
        yield RevokeAccess(target, person, held.privileges)
