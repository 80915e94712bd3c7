"""Whom a change touched: for the slices that are kept, and realm by realm for those who follow one.

Nobody who follows a realm is to learn that something about somebody changed in another.  So what is touched
is kept for each realm by itself, by where each fact stands; what concerns a person wherever they are is told
where they, or a group of theirs, have anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.conf import settings
from django.db import connection
from django.db.models import Q

from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Mode, Placement, Realm, Securable
from catalog.queries import realm_named
from lakewarden.law import dialects
from policies.decisions.cache_versions import principal_key, principals_in, touched_by
from policies.decisions.facts import is_service_admin
from policies.models import Assignment, Grant, Ownership, RealmMember, RealmTouch, Touch
from policies.record.pending import ChangeInProgress

Realms = dict[str, set[int]]
"""The realms in which each key is touched."""
_TRUE = "({0}.closed IS NULL OR {0}.closed = %(revision)s)"
_HAVE = """
SELECT m.principal_id, m.realm_id FROM policies_realmmember m WHERE m.principal_id = ANY(%(who)s) AND {m}
UNION
SELECT a.holder_id, r.realm_id FROM policies_assignment a JOIN catalog_securable r ON r.id = a.role_id
 WHERE a.holder_id = ANY(%(who)s) AND {a}
UNION
SELECT g.holder_id, coalesce(g.realm_id, s.realm_id)
  FROM policies_grant g LEFT JOIN catalog_securable s ON s.id = g.securable_id
 WHERE g.holder_id = ANY(%(who)s) AND {g}
UNION
SELECT o.owner_id, s.realm_id FROM policies_ownership o JOIN catalog_securable s ON s.id = o.securable_id
 WHERE o.owner_id = ANY(%(who)s) AND {o}
""".format(**{alias: _TRUE.format(alias) for alias in "mago"})


def write(current: ChangeInProgress) -> None:
    """Say of everything that the change touches that it was, in which realms.

    Two statements; up to five more where it is about people rather than about what stands in its realm.
    """
    facts = (*current.begun, *current.ended)
    keys = sorted({key for fact in facts for key in touched_by(fact)} | current.touches)
    Touch.objects.bulk_create(
        [Touch(key=key, revision=current.revision) for key in keys],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["revision"],
    )
    realms = _realms(current, facts)
    rows = [(realm, key) for key in keys for realm in sorted(realms.get(key) or {RealmTouch.NOWHERE})]
    touch_within(rows, current.revision)


def touch_within(rows: Iterable[tuple[int, str]], revision: int) -> None:
    """Say that keys were touched in realms by a revision.  One statement."""
    RealmTouch.objects.bulk_create(
        [RealmTouch(realm=realm, key=key, revision=revision) for realm, key in rows],
        update_conflicts=True,
        unique_fields=["realm", "key"],
        update_fields=["revision"],
    )


def _realms(current: ChangeInProgress, facts: Collection[Fact]) -> Realms:
    touched: Realms = defaultdict(set)
    _of_facts(touched, [fact for fact in facts if not isinstance(fact, Membership)], current.realm)
    _of_memberships(touched, [fact for fact in facts if isinstance(fact, Membership)], current.revision)
    _of_people(touched, principals_in(current.touches), current.revision)
    for key in current.touches:
        if key.startswith("r:"):
            touched[key].add(int(key.removeprefix("r:")))
    roles = [int(key.removeprefix("s:")) for key in current.touches if key.startswith("s:")]
    for role, realm in _standing(roles).items():
        touched[f"s:{role}"].add(realm)
    return touched


def _of_facts(touched: Realms, facts: Iterable[Fact], realm: Realm | None) -> None:
    """A change of a realm is about that realm alone; one of the site may be about any."""
    facts = list(facts)
    where = dict.fromkeys(facts, realm.pk) if realm else realms_by_fact(facts)
    for fact in where:
        for key in touched_by(fact):
            touched[key].add(where[fact])


def realms_by_fact(facts: Iterable[Fact]) -> dict[Fact, int]:
    """The realm of each fact that is of one.  One query, none where the facts say it themselves."""
    places = {fact: _place(fact) for fact in facts}
    standing = _standing({place for realm, place in places.values() if realm is None and place is not None})
    realms = {
        fact: standing.get(place or 0) if realm is None else realm for fact, (realm, place) in places.items()
    }
    return {fact: realm for fact, realm in realms.items() if realm is not None}


def realms_of(facts: Collection[Fact], objects: Collection[int] = ()) -> set[int] | None:
    """In which realms some facts and objects stand; None where one may matter in any.  Two queries."""
    by_fact, by_object = realms_by_fact(facts), _standing(objects)
    if len(by_fact) < len(facts) or len(by_object) < len(objects):
        return None
    return {*by_fact.values(), *by_object.values()}


def _place(fact: Fact) -> tuple[int | None, int | None]:
    """The realm of a fact where it says so, else an object of that realm."""
    match fact:
        case Grant():
            return fact.realm_id, fact.securable_id or fact.role_id
        case Assignment():
            return None, fact.role_id
        case Ownership() | Placement():
            return None, fact.securable_id
        case RealmMember() | Mode():
            return fact.realm_id, None
    return None, None


def _standing(objects: Collection[int]) -> dict[int, int]:
    """The realms of objects.  One query, none for no objects."""
    rows = Securable.objects.filter(pk__in=objects) if objects else Securable.objects.none()
    return dict(rows.values_list("pk", "realm_id"))


def _of_memberships(touched: Realms, rows: Collection[Membership], revision: int) -> None:
    """Who joins or leaves a group is another where the group has anything, or stands in the settings."""
    groups = {row.group_id for row in rows}
    if not groups:
        return
    have = _have(groups, revision)
    named = dict(Principal.objects.filter(pk__in=groups).values_list("name", "pk"))
    for realm in Realm.objects.filter(kind=Realm.Kind.CDAP, settings__admin_group__in=list(named)):
        have[named[realm.settings["admin_group"]]].add(realm.pk)
    for name in settings.LAKEWARDEN_AUTHORIZERS:
        if (served := realm_named(name)) is not None:
            for group in groups:
                have[group].add(served.pk)
    for row in rows:
        touched[principal_key(row.member_id)] |= have[row.group_id]


def _of_people(touched: Realms, people: Collection[int], revision: int) -> None:
    """Who comes or goes is another wherever they have anything, and where everybody belongs."""
    if not people:
        return
    inside = Membership.objects.filter(Q(closed__isnull=True) | Q(closed=revision), member__in=people)
    groups = list(inside.values_list("member", "group"))
    have = _have({*people, *(group for _, group in groups)}, revision)
    realms = list(Realm.objects.filter(closed__isnull=True))
    open_to_all = {realm.pk for realm in realms if dialects.get(realm.law).open_to_all}
    for person in Principal.objects.filter(pk__in=people):
        everywhere = {realm.pk for realm in realms} if is_service_admin(person) else open_to_all
        theirs = [have[group] for member, group in groups if member == person.pk]
        touched[principal_key(person.pk)] |= everywhere.union(have[person.pk], *theirs)


def _have(who: Collection[int], revision: int) -> dict[int, set[int]]:
    """The realms in which each of some has anything, or had until this change.  One query."""
    touched: dict[int, set[int]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(_HAVE, {"who": list(who), "revision": revision})
        for holder, realm in cursor.fetchall():
            touched[holder].add(realm)
    return touched
