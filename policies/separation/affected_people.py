"""Whom a change gives something: the people behind the holders that its facts name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Q
from django.db.models.functions import Upper
from django.utils import timezone

from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Placement
from catalog.nodes import any_of
from policies.models import Assignment, Grant, Ownership, RealmMember
from policies.models.grants import Effect

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)


def giving(begun: Iterable[Fact]) -> list[Fact]:
    """Those of the facts by which somebody may come to have something."""
    return [fact for fact in begun if fact.closed is None and _gives(fact)]


def _gives(fact: Fact) -> bool:
    if isinstance(fact, Grant):
        return fact.effect == Effect.ALLOW
    return isinstance(fact, Assignment | Ownership | RealmMember | Membership)


def moved(begun: Iterable[Fact], ended: Iterable[Fact]) -> set[int]:
    """The objects that stand below another one than before."""
    before = {fact.securable_id: fact.parent_id for fact in ended if isinstance(fact, Placement)}
    now = {fact.securable_id: fact.parent_id for fact in begun if isinstance(fact, Placement)}
    return {key for key, parent in now.items() if key in before and before[key] != parent}


def people(given: Collection[Fact], elsewhere: Collection[int]) -> list[Principal]:
    """The people and service accounts whom these facts may give something.  At most seven queries.

    `elsewhere` are the objects that were moved: whoever has something on them is among those people.
    """
    holders = {pk for fact in given for pk in _named(fact)}
    roles = {fact.role_id for fact in given if isinstance(fact, Grant) and fact.role_id}
    if elsewhere:
        on_them = any_of("securable_id", elsewhere)
        rows = Grant.objects.open().filter(on_them).values_list("holder", "role")
        holders |= {holder for holder, _ in rows} - {None}
        roles |= {role for _, role in rows} - {None}
        holders |= set(Ownership.objects.open().filter(on_them).values_list("owner", flat=True))
    if roles:
        holders |= set(Assignment.objects.open().filter(role__in=roles).values_list("holder", flat=True))
    return unfolded(holders)


def _named(fact: Fact) -> Iterable[int]:
    match fact:
        case Grant(holder_id=int(holder)) | Assignment(holder_id=int(holder)):
            yield holder
        case Ownership():
            yield fact.owner_id
        case RealmMember():
            yield fact.principal_id
        case Membership():
            yield fact.member_id


def unfolded(holders: Collection[int]) -> list[Principal]:
    """People with the members of groups, now or later, in place of these.  Three queries.

    Whoever bears the same name in another case is among them: some laws do not tell them apart.
    """
    ahead = Q(valid_until__isnull=True) | Q(valid_until__gt=timezone.now())
    inside = Membership.objects.open().filter(ahead, any_of("group_id", holders))
    everybody = {*holders, *inside.values_list("member", flat=True)}
    principals = list(
        Principal.objects.filter(any_of("id", everybody), kind__in=PEOPLE).annotate(upper=Upper("name"))
    )
    names = {item.upper for item in principals if item.kind == Principal.Kind.USER}
    alike = Principal.objects.annotate(upper=Upper("name")).filter(upper__in=names, kind=Principal.Kind.USER)
    by_number: dict[int, Principal] = {item.pk: item for item in (*principals, *alike)}
    return [by_number[key] for key in sorted(by_number)]
