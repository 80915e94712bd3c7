"""What must hold after every change, judged under the writers' lock."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import Fact
from catalog.models import Placement, Realm
from policies.errors import Conflict, Invalid, NotFound
from policies.models import Assignment, Grant, Ownership
from policies.record.pending import ChangeInProgress

Check = Callable[[ChangeInProgress], None]
ROLES_ALONE = "roles"
"""What the setting `grants` of a CDAP realm says where privileges go to roles and roles to groups."""
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
    _roles_alone_where_set(current)
    for more in _registered:
        more(current)


def _stands_on_what_is_there(current: ChangeInProgress) -> None:
    # what was found before the lock was taken may have been dropped by whoever held it
    needed = {pk for fact in current.begun if fact.closed is None for pk in _rests_on(fact)} - {None}
    open_ids = Placement.objects.open().filter(securable__in=needed).values_list("securable", flat=True)
    if needed - set(open_ids):
        raise NotFound(gettext("The object concerned no longer exists."))


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
        raise Conflict(gettext("A realm cannot be left without an owner; set another owner first."))


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
            raise Invalid(
                gettext("%(privilege)s cannot be both allowed and denied on one object in one role.")
                % {"privilege": fact.privilege}
            )


def _roles_alone_where_set(current: ChangeInProgress) -> None:
    """In a realm set so, as Apache Sentry has it, privileges go to roles only, and roles to groups only."""
    if current.realm is not None and not current.realm.kind.startswith(Realm.Kind.CDAP):
        return
    given = [fact for fact in current.begun if isinstance(fact, Grant) and fact.holder_id and fact.realm_id]
    joined = [
        fact
        for fact in current.begun
        if isinstance(fact, Assignment) and fact.holder.kind != Principal.Kind.GROUP
    ]
    if not given and not joined:
        return
    strict = Realm.objects.filter(kind=Realm.Kind.CDAP, settings__grants=ROLES_ALONE)
    if strict.filter(pk__in={fact.realm_id for fact in given}).exists():
        raise Invalid(gettext("Privileges are granted to roles only here; give them to a role."))
    if strict.filter(securables__in={fact.role_id for fact in joined}).exists():
        raise Invalid(gettext("Roles are assigned to groups only here; put people into a group."))


_TARGET = ("role_id", "holder_id", "securable_id", "privilege")
