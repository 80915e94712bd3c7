"""The invariant: no change gives anybody both sides of a rule, exceptions and what they had apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from accounts.models import Principal
from accounts.record import Fact
from catalog.models import Realm
from policies.models import Grant
from policies.record import touches
from policies.record.pending import ChangeInProgress
from policies.separation import affected_people, wording
from policies.separation import rules as separation_rules
from policies.separation.rules import Book, Separated, Violation
from policies.separation.sides import meets, without

TOLD = 3


def check(current: ChangeInProgress) -> None:
    """Raise Separated when the change brings somebody in conflict, and Unsealed when nobody can say so.

    One query where there are no rules.
    """
    given = affected_people.giving(current.begun)
    elsewhere = affected_people.moved(current.begun, current.ended)
    if not given and not elsewhere:
        return
    rules = separation_rules.proved_rules(current.at.timestamp(), lambda: touches.realms_of(given, elsewhere))
    if not rules or not _may_matter(rules, given, elsewhere):
        return
    people = affected_people.people(given, elsewhere)
    before = current.revision - 1
    realms = list(Realm.objects.filter(pk__in={rule.realm_id for rule in rules.rules}).order_by("pk"))
    new = [item for realm in realms for item in _new(realm, rules, people, before, elsewhere)]
    if new:
        refusal = wording.refusal(new, many=TOLD, reader=current.actor.principal, now=current.at)
        raise Separated(refusal, tuple(new))


def _may_matter(rules: Book, given: Sequence[Fact], elsewhere: Collection[int]) -> bool:
    """Most changes are rights on other objects than any rule speaks of.  Two queries."""
    rights = [fact for fact in given if isinstance(fact, Grant)]
    if elsewhere or len(rights) < len(given):
        return True
    rules.learn(side.object for side in rules.sides())
    rules.learn(fact.securable_id for fact in rights)
    places = rules.lineages
    return any(
        fact.privilege in side.codes and meets(side.object, fact.securable_id or 0, places)
        for fact in rights
        for side in rules.sides()
    )


def _new(
    realm: Realm, rules: Book, people: Sequence[Principal], revision: int, elsewhere: Collection[int]
) -> list[Violation]:
    """The clashes that were not at the revision, when what was moved stood where no rule spoke of it."""
    mine = replace(rules, rules=[rule for rule in rules.rules if rule.realm_id == realm.pk])
    after = [clash for clash in mine.clashes(separation_rules.load(realm, people)) if clash.spans]
    if not after:
        return []
    concerned = list({item.person.pk: item.person for item in after}.values())
    held = separation_rules.load(realm, concerned, as_of=revision)
    before = mine.clashes({person: has.apart_from(elsewhere) for person, has in held.items()})
    had = {(item.rule.pk, item.person.pk): item.both.spans for item in before}
    left = [
        replace(item, spans=tuple(without(item.spans, had.get((item.rule.pk, item.person.pk), ()))))
        for item in after
    ]
    return [item for item in left if item.spans]
