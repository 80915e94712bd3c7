"""After a review everybody can do what they could at its start, less exactly what was proved to have gone."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Rule
from policies.decisions import ask, facts
from policies.decisions.lookups import visible_objects
from policies.models import Grant, Review, ReviewRow, ReviewSeat
from policies.reviews import completion, decisions, management
from policies.reviews.decisions import Verdict
from policies.services import grants, owners
from policies.services.grants import GrantRequest
from tests.drawn import seeds
from tests.factories import AUTHORITY, BY, acting
from tests.policies.test_agreement import NAMES, a_random_world, everything
from tests.reviews.world import a_review, acts, can_sign_in, person


def a_world(chance: random.Random) -> Node:
    root = a_random_world(chance)
    can_sign_in("marek", *NAMES)
    owners.set_owner(root, person("marek"), by=BY, authority=AUTHORITY)
    places = [item for item in everything(root) if item.type == "table"]
    admitted = [str(item) for item in visible_objects.admitted(root)]
    for place in chance.sample(places, 3):
        holder = person(chance.choice(admitted))
        codes = tuple(chance.sample(("SELECT_TABLE", "MODIFY_TABLE"), chance.randint(1, 2)))
        grants.add(GrantRequest(place, (holder,), codes, way=False), by=acting("marek"))
    return root


Abilities = dict[tuple[str, str], frozenset[str]]


def able(root: Node, rules_of: Any) -> Abilities:
    """Everything that everybody can do to every table, view, schema and catalog."""
    now, law = timezone.now(), dialects.get(root.kind)
    people = [person(name) for name in NAMES]
    loaded = facts.load(_realm(root), root.realm, [item.pk for item in people], now=now)
    abilities: Abilities = {}
    for item in people:
        slice_ = engine.with_rules(loaded.slice_of(item), tuple(rules_of(item)), now=now.timestamp())
        for node in everything(root):
            if node.type != "role":
                names = law.actions_for(node.type)
                can = {name for name in names if ask.answer(slice_, name, node, now=now, inside=())}
                abilities[item.name, node.ref.full_name] = frozenset(can)
    return abilities


def _realm(root: Node) -> Realm:
    return Realm(pk=root.realm_id, kind=root.kind)


class Oracle:
    """The rules of the start, less those that rest on what was proved to have gone."""

    def __init__(self, root: Node, review: Review) -> None:
        people = [person(name).pk for name in NAMES]
        self.loaded = facts.load(_realm(root), root.realm, people, as_of=review.revision)
        proved = ReviewRow.objects.filter(review=review, state="proved").exclude(choice="end")
        self.gone: set[str] = set()
        self.roles: set[tuple[int | None, int | None]] = set()
        self.groups: set[tuple[int | None, int | None]] = set()
        for row in proved:
            if row.kind == "role":
                self.roles.add((row.holder_id, row.role_id))
            elif row.kind == "member":
                self.groups.add((row.holder_id, row.group_id))
            else:
                self.gone |= set(self._facts(row))

    def _facts(self, row: ReviewRow) -> Iterable[str]:
        takes = set(row.takes if row.choice == "reduce" else row.privileges)
        for code in row.facts:
            kind, _, number = code.partition(":")
            if kind != "grant" or Grant.objects.get(pk=number).privilege in takes:
                yield code

    def rules_of(self, principal: Principal) -> Iterable[Rule]:
        for rule in self.loaded.rules_of(principal.pk):
            holder, whole = principal.pk, str(rule.fact) not in self.gone
            for station in rule.via:
                if station.kind == "group":
                    whole = whole and (principal.pk, station.key) not in self.groups
                    holder = int(str(station.key))
                else:
                    whole = whole and (holder, station.key) not in self.roles
            if whole:
                yield rule


def decide_by_lot(review: Review, chance: random.Random) -> None:
    # nobody else may be asked about what the owner was given
    for row in ReviewRow.objects.filter(review=review, desk__isnull=False).order_by("number"):
        seats = ReviewSeat.objects.filter(desk=row.desk_id, left__isnull=True)
        reviewer = chance.choice(list(seats.order_by("pk").values_list("reviewer__name", flat=True)))
        if chance.random() < 0.2:
            continue
        choice = chance.choice(decisions.choices(row))
        verdict = Verdict(
            row.pk,
            row.version,
            choice,
            takes=(chance.choice(row.privileges),) if choice == "reduce" else (),
            until=timezone.now() + timedelta(days=9) if choice == "end" else None,
            reason="by lot",
        )
        decisions.decide(review, [verdict], by=acts(reviewer))


@seeds(4)
def test_after_a_review_access_is_the_population_less_what_was_proved(
    db: None, seed: int, settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ["marek"]  # so that places in groups are reviewed too
    chance = random.Random(seed)
    root = a_world(chance)
    review = a_review(root, by="marek", silence=chance.choice(("keep", "remove")))
    decide_by_lot(review, chance)
    management.end(review, by=acts("marek"))
    completion.work(review)
    review.refresh_from_db()
    assert review.state == "closed"
    proved = ReviewRow.objects.filter(review=review, state="proved").exclude(choice="end")
    assert {row.kind for row in proved} & {"grant", "role", "member"}
    oracle = Oracle(root, review)
    loaded = facts.load(_realm(root), root.realm, [person(name).pk for name in NAMES])
    assert able(root, lambda principal: loaded.rules_of(principal.pk)) == able(root, oracle.rules_of)
