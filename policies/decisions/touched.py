"""Whose answers in a realm some changes may have made others, for programs that keep answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Membership, Principal
from catalog.models import Securable
from lakewarden.client.changes import EVERYBODY, key_of
from policies.decisions.cache_versions import principals_in, realm_key
from policies.models import Assignment, Change, Counter, Event, RealmTouch, Touch

MOST = 1000
"""Beyond so many changes or people it is everybody who is concerned."""
OF_NAMES = ("object.", "realm.", "facts.", "record.")
"""How events begin after which what a name means may be something else, for everybody."""


@dataclass(frozen=True)
class Touched:
    """The keys of those concerned by the changes up to a revision; none where nothing concerns the realm."""

    revision: int
    keys: tuple[str, ...] = ()


def since(realm: int, after: int) -> Touched:
    """Whom the changes after a revision concern in a realm.  Seven queries at most, one without changes."""
    revision = last_revision()
    if revision == after:
        return Touched(revision)
    if revision < after:
        return Touched(revision, (EVERYBODY,))  # a copy was put back: what is kept is of another past
    changes = Change.objects.filter(
        Q(realm=realm) | Q(realm__isnull=True), revision__gt=after, revision__lte=revision
    )
    if not changes.exists():
        return Touched(revision)
    if revision - after > MOST or _names_changed(changes):
        return Touched(revision, (EVERYBODY,))
    return Touched(revision, _concerned(realm, _keys(realm, after)))


def _keys(realm: int, after: int) -> set[str]:
    """What was touched in the realm; of what a console of before realms were told apart has written, what its
    last change may have been about there."""
    touches = RealmTouch.objects.filter(realm=realm, revision__gt=after)
    later = RealmTouch.objects.filter(key=OuterRef("key"), revision__gte=OuterRef("revision"))
    about = Q(realm=realm) | Q(realm__isnull=True)
    earlier = Touch.objects.filter(
        ~Exists(later),
        Exists(Change.objects.filter(about, revision=OuterRef("revision"))),
        revision__gt=after,
    )
    keys = [
        *touches.values_list("key", flat=True)[: MOST + 1],
        *earlier.values_list("key", flat=True)[: MOST + 1],
    ]
    return set(keys)


def last_revision() -> int:
    """The number of the last change.  One query."""
    return Counter.objects.values_list("revision", flat=True).get()


def _names_changed(changes: QuerySet[Change]) -> bool:
    begins = Q()
    for prefix in OF_NAMES:
        begins |= Q(kind__startswith=prefix)
    return Event.objects.filter(begins, change__in=changes.values("revision")).exists()


def _concerned(realm: int, keys: set[str]) -> tuple[str, ...]:
    if len(keys) > MOST or realm_key(realm) in keys:
        return (EVERYBODY,)
    people = {*principals_in(keys), *_holders(realm, keys)}
    names = _names(people)
    return (EVERYBODY,) if names is None else tuple(sorted(set(map(key_of, names))))


def _holders(realm: int, keys: Collection[str]) -> Iterable[int]:
    """Who holds the realm's roles among the keys."""
    numbers = [int(key.removeprefix("s:")) for key in keys if key.startswith("s:")]
    if not numbers:
        return []
    roles = Securable.objects.filter(pk__in=numbers, realm=realm)
    return Assignment.objects.open().filter(role__in=roles.values("pk")).values_list("holder", flat=True)


def _names(people: Collection[int]) -> set[str] | None:
    """The names of those and, of groups, of their members; None where too many or a pattern is concerned."""
    names, groups = set(), []
    for number, kind, name in Principal.objects.filter(pk__in=people).values_list("pk", "kind", "name"):
        if kind == Principal.Kind.PATTERN:
            return None
        if kind == Principal.Kind.GROUP:
            groups.append(number)
        names.add(name)
    if groups:
        members = Membership.objects.open().filter(group__in=groups)
        names |= set(members.values_list("member__name", flat=True)[: MOST + 1])
    return names if len(names) <= MOST else None
