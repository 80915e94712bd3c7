"""What must hold after every change, judged under the writers' lock."""

from __future__ import annotations

from collections.abc import Callable

from accounts.record import Fact
from catalog.models import Placement
from policies.errors import Conflict, Invalid, NotFound
from policies.models import Assignment, Grant, Ownership
from policies.record.pending import ChangeInProgress

Check = Callable[[ChangeInProgress], None]
_registered: list[Check] = []


def register(check: Check) -> None:
    """Judge every change by a check of a package above too; `PoliciesConfig.ready` names them all."""
    if check not in _registered:
        _registered.append(check)


def check(current: ChangeInProgress) -> None:
    """Raise Conflict, Invalid or NotFound when the state the change leaves behind may not be."""
    if not _registered:
        raise RuntimeError("No check of the packages above is registered, so no change can be judged.")
    _stands_on_what_is_there(current)
    _realm_keeps_an_owner(current)
    _no_allow_beside_deny(current)
    for more in _registered:
        more(current)


def _stands_on_what_is_there(current: ChangeInProgress) -> None:
    # what was found before the lock was taken may have been dropped by whoever held it
    needed = {pk for fact in current.begun if fact.closed is None for pk in _rests_on(fact)} - {None}
    there = Placement.objects.open().filter(securable__in=needed).values_list("securable", flat=True)
    if needed - set(there):
        raise NotFound("What this is about is no longer there.")


def _rests_on(fact: Fact) -> tuple[int | None, ...]:
    match fact:
        case Grant():
            return fact.securable_id, fact.role_id
        case Assignment():
            return (fact.role_id,)
        case Ownership():
            return (fact.securable_id,)
        case Placement():
            return fact.parent_id, fact.scope_id
    return ()


def _realm_keeps_an_owner(current: ChangeInProgress) -> None:
    lost = [fact.securable_id for fact in current.ended if isinstance(fact, Ownership)]
    roots = Placement.objects.open().filter(securable__in=lost, parent__isnull=True)
    owned = Ownership.objects.open().filter(securable__in=lost).values("securable")
    if lost and roots.exclude(securable__in=owned).exists():
        raise Conflict("A realm cannot be left without an owner; set another owner first.")


def _no_allow_beside_deny(current: ChangeInProgress) -> None:
    begun = [fact for fact in current.begun if isinstance(fact, Grant)]
    if not begun:
        return
    rows = Grant.objects.open().filter(
        privilege__in={fact.privilege for fact in begun}, securable__in={fact.securable_id for fact in begun}
    )
    effects: dict[tuple[object, ...], set[str]] = {}
    for *target, effect in rows.values_list(*_TARGET, "effect"):
        effects.setdefault(tuple(target), set()).add(effect)
    for fact in begun:
        if len(effects.get(tuple(getattr(fact, name) for name in _TARGET), ())) > 1:
            raise Invalid(f"{fact.privilege} cannot be both allowed and denied on one object in one role.")


_TARGET = ("role_id", "holder_id", "securable_id", "privilege")
