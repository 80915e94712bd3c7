"""Ending the grant that a hint is about, by the service that ends it anywhere else.

A hint that says that nobody loses or gains anything is proved again on what is true now, before it is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone
from django.utils.translation import gettext, ngettext

from accounts.models import Membership, Principal
from catalog.models import Placement, Realm
from catalog.nodes import Node, any_of
from lakewarden.law import engine
from lakewarden.law.dialects.cdap.authorizable import matches, parse
from lakewarden.law.facts import OWNER, Slice
from policies.authority import Actor
from policies.decisions import facts, personal_role_names
from policies.errors import Conflict
from policies.events import GRANT_REMOVED
from policies.models import Assignment, Grant
from policies.record.change import change
from policies.services import grants, patterns, realm_of, roles

WITHOUT_EFFECT = ("redundant_grant", "idle_deny")
"""Kinds of hints that promise that ending the grant changes nothing."""


def end(row: Grant, place: Node, role: Node | None, *, kind: str, by: Actor, reason: str) -> None:
    """End one grant.  Raises Refused, and Conflict when it would change what the hint says it does not."""
    people = _people(row) if kind in WITHOUT_EFFECT else []
    with change(GRANT_REMOVED, realm=realm_of(place), by=by, reason=reason):
        before = _slices(place, people)
        _end(row, place, role, by, reason)
        after = _slices(place, people)
        changed = _without(row, place, after) if row.pattern else _changed(row, place, before, after)
        if changed:
            raise Conflict(_gain(changed) if row.effect == "deny" else _loss(changed))


def _gain(people: int) -> str:
    return ngettext(
        "Nothing was done: since the hint was found, things have changed, "
        "and %(people)s person would gain access now.",
        "Nothing was done: since the hint was found, things have changed, "
        "and %(people)s people would gain access now.",
        people,
    ) % {"people": people}


def _loss(people: int) -> str:
    return ngettext(
        "Nothing was done: since the hint was found, things have changed, "
        "and %(people)s person would lose access now.",
        "Nothing was done: since the hint was found, things have changed, "
        "and %(people)s people would lose access now.",
        people,
    ) % {"people": people}


def _end(row: Grant, place: Node, role: Node | None, by: Actor, reason: str) -> None:
    holder = row.holder or (_alone(row) if role and personal_role_names.is_personal(role.name) else None)
    bearer = row.holder or role
    if bearer is None:
        raise Conflict(gettext("Its holder no longer exists."))
    if row.pattern:
        patterns.revoke(place, parse(row.pattern, others=True), bearer, [row.privilege], by=by, reason=reason)
    elif holder is not None and row.effect == "allow":
        grants.remove(place, [holder], [row.privilege], by=by, reason=reason)
    elif role is not None:
        ended = [roles.Privilege(row.privilege, row.effect)]
        authority = grants.authority_to_grant(place, by)
        roles.remove_privileges(role, place, ended, by=by, authority=authority, reason=reason)


def _alone(row: Grant) -> Principal | None:
    """Whom a personal role is of."""
    held = Assignment.objects.open().filter(role=row.role).select_related("holder").first()
    return held.holder if held else None


def _people(row: Grant) -> list[Principal]:
    """Everybody whom a grant concerns now, groups unfolded.  Three queries."""
    holders = {row.holder_id} if row.holder_id else set()
    if row.role_id:
        holders |= set(Assignment.objects.open().filter(role=row.role_id).values_list("holder", flat=True))
    inside = Membership.objects.open().filter(any_of("group_id", holders)).values_list("member", flat=True)
    people = Principal.objects.filter(any_of("id", holders | set(inside)))
    return [person for person in people if person.kind != Principal.Kind.GROUP]


def _slices(place: Node, people: list[Principal]) -> Mapping[int, Slice]:
    if not people:
        return {}
    realm = Realm(pk=place.realm_id, kind=place.kind)
    loaded = facts.load(realm, place.realm, [person.pk for person in people], now=timezone.now())
    return {person.pk: loaded.slice_of(person) for person in people}


def _without(row: Grant, root: Node, after: Mapping[int, Slice]) -> int:
    """How many have no other rule that gives as much on all that the text names."""
    law, now, text = patterns.law_of(root), timezone.now().timestamp(), parse(row.pattern, others=True)
    bits, lacking = law.bits(row.privilege), 0
    for slice_ in after.values():
        given = (rule for rule in slice_.rules if rule.allow and rule.holds_at(now))
        lacking += not any(
            isinstance(rule.object, str)
            and not bits & ~law.bits(rule.privilege)
            and matches(parse(rule.object, others=True), text)
            for rule in given
        )
    return lacking


def _changed(row: Grant, place: Node, before: Mapping[int, Slice], after: Mapping[int, Slice]) -> int:
    moment, changed = timezone.now().timestamp(), 0
    for person, slice_ in after.items():
        was, would = (
            engine.permitted(item, row.privilege, place.levels, now=moment)
            for item in (before[person], slice_)
        )
        gains = row.effect == "deny" and _gains_below(slice_, row.privilege, place)
        changed += was != would or gains
    return changed


def _gains_below(slice_: Slice, privilege: str, place: Node) -> bool:
    """Whether somebody whom nothing else denies a privilege here is given it on something below."""
    rules = [rule for rule in slice_.rules if rule.privilege == privilege and rule.privilege != OWNER]
    if any(not rule.allow and rule.object in place.lineage for rule in rules):
        return False
    given = [rule.object for rule in rules if rule.allow]
    below = Placement.objects.open().filter(any_of("securable_id", given), ancestors__contains=[place.id])
    return below.exists()
