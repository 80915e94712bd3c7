"""Whose cached answers a fact can change."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.models import Keeping, Membership
from accounts.record import Fact
from catalog.models import Mode, Placement
from policies.models import Assignment, Grant, Ownership, RealmMember, SeparationException, SeparationRule


def principal_key(pk: int) -> str:
    return f"p:{pk}"


def principals_in(keys: Iterable[object]) -> list[int]:
    """The principals among the keys of a slice."""
    return [int(key.removeprefix("p:")) for key in keys if isinstance(key, str) and key.startswith("p:")]


def role_key(pk: int) -> str:
    return f"s:{pk}"


def realm_key(pk: int) -> str:
    return f"r:{pk}"


def touched_by(fact: Fact) -> tuple[str, ...]:
    """The keys of the holders a fact concerns.  A kind of fact that is not listed here cannot be written."""
    match fact:
        case Grant(role_id=int(role)):
            return (role_key(role),)
        case Grant(holder_id=int(holder)):
            return (principal_key(holder),)
        case Assignment():
            return (principal_key(fact.holder_id),)
        case Ownership():
            return (principal_key(fact.owner_id),)
        case RealmMember():
            return (principal_key(fact.principal_id),)
        case Membership():
            return (principal_key(fact.member_id),)
        case Keeping():
            return ()  # who answers for a service account has none of its rights by that
        case SeparationRule() | SeparationException():
            return ()  # they forbid and let changes, and no answer follows from them
        case Mode():
            return (realm_key(fact.realm_id),)
        case Placement():
            return (role_key(fact.securable_id),) if fact.type == "role" else ()
    raise TypeError(f"{type(fact).__name__} says nobody it touches")
