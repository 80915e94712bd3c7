"""The open rules of separation with their exceptions, and who is in conflict with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from accounts.fact_content import fact_code
from accounts.models import Principal
from accounts.seals import is_fact_sealed
from catalog.models import Realm
from catalog.nodes import Node, nodes
from lakewarden.law.facts import OWNER
from policies.decisions import facts
from policies.decisions.facts import Loaded
from policies.decisions.seals import opened_again
from policies.errors import Conflict, Unsealed
from policies.events import SEPARATION_MADE
from policies.models import Event, SeparationException, SeparationRule
from policies.record.archive import reading
from policies.separation.sides import Both, HeldSides, Side, Span, both, held, sides_of, without


@dataclass(frozen=True)
class Violation:
    """A person has both sides of a rule.  `spans` are the moments at which no exception allows it."""

    rule: SeparationRule
    person: Principal
    both: Both
    spans: tuple[Span, ...]
    exception: SeparationException | None = None


class Separated(Conflict):
    """It would give somebody both sides of a rule of separation; `clashes` says whom."""

    def __init__(self, message: str, clashes: tuple[Violation, ...] = ()):
        super().__init__(message)
        self.clashes = clashes


@dataclass
class Book:
    """The rules of some realms at one moment, seconds since 1970; `places` grows with what is asked."""

    rules: list[SeparationRule]
    exceptions: dict[tuple[int, int], SeparationException]
    now: float
    places: dict[int, Node] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def learn(self, keys: Iterable[object]) -> None:
        """Look up where objects stand, those that are not known yet.  One query or none."""
        new = {key for key in keys if isinstance(key, int)} - self.asked
        if new:
            self.asked |= new
            self.places.update(nodes(new))

    @property
    def lineages(self) -> Mapping[int, tuple[int, ...]]:
        return {key: node.lineage for key, node in self.places.items()}

    def learn_of(self, everybody: Iterable[HeldSides]) -> None:
        """Look up every object that may matter for what these people have."""
        codes = {code for side in self.sides() for code in side.privileges} | {OWNER}
        self.learn(side.object for side in self.sides())
        self.learn(rule.object for has in everybody for rule in has.rules if rule.privilege in codes)

    def sides(self) -> list[Side]:
        return [side for rule in self.rules for side in sides_of(rule)]

    def clashes(self, people: Mapping[Principal, HeldSides]) -> list[Violation]:
        """Every rule that somebody has both sides of, excepted or not."""
        self.learn_of(people.values())
        lineages = self.lineages
        violations = []
        for person, has in people.items():
            for rule in self.rules:
                meeting = both(rule, has, lineages, self.now)
                if meeting:
                    let = self.exceptions.get((rule.pk, person.pk))
                    left = without(meeting.spans, [_span(let)] if let else [])
                    clash = Violation(rule, person, meeting, tuple(left), let)
                    violations.append(clash)
        return violations


def _span(row: SeparationException) -> Span:
    start = row.valid_from.timestamp() if row.valid_from else float("-inf")
    return start, row.valid_until.timestamp() if row.valid_until else float("inf")


def opened(now: float, realm: int | None = None) -> Book:
    """The rules that are open, of all realms or of one.  One query where there are none, else two."""
    rows = SeparationRule.objects.open()
    if realm is not None:
        rows = rows.filter(realm=realm)
    return _book(list(rows.order_by("name", "pk")), now)


def proved_rules(now: float, realms: Callable[[], Collection[int] | None]) -> Book:
    """The same of all realms, each as the writer left it.  As many queries where all are.

    One that was altered, or closed past the console, may have forbidden anything in its realm: where that is
    one of `realms`, None for any, nobody can say what it would have forbidden.  Raises Unsealed.
    """
    rows = list(SeparationRule.objects.order_by("name", "pk"))
    doubted = [row for row in rows if not is_fact_sealed(row)]
    if doubted:
        over = set(opened_again.among(SeparationRule.objects.filter(pk__in=[row.pk for row in doubted])))
        altered = [row for row in doubted if row.closed is None or row not in over]
        concerned = realms() if altered else ()
        for row, recorded in _realms_told(altered):
            if concerned is None or not recorded.isdisjoint(concerned):
                raise Unsealed(fact_code(row))
    return _book([row for row in rows if row.closed is None and row not in doubted], now)


def _realms_told(rows: Collection[SeparationRule]) -> Iterator[tuple[SeparationRule, set[int]]]:
    """Each rule with the realms that the record says it was made for.  Two queries.

    One of which nothing live tells was made by nobody, or in a realm that has archives.
    """
    codes = [fact_code(row) for row in rows]
    made = Event.objects.filter(kind=SEPARATION_MADE, data__fact__in=codes)
    recorded: dict[str, set[int]] = defaultdict(set)
    for code, realm in made.values_list("data__fact", "data__state__realm_id"):
        recorded[code].add(realm)
    archived = set(reading.archives().values_list("realm", flat=True))
    for row, code in zip(rows, codes, strict=True):
        yield row, recorded.get(code) or {row.realm_id} | archived


def _book(rules: list[SeparationRule], now: float) -> Book:
    if not rules:
        return Book([], {}, now)
    rows_let = SeparationException.objects.open().filter(rule__in=[rule.pk for rule in rules])
    # one that no change made lets nobody
    let = [row for row in rows_let.select_related("owner") if is_fact_sealed(row)]
    return Book(rules, {(row.rule_id, row.person_id): row for row in let}, now)


def of_realm(root: Node, now: float) -> Book:
    return opened(now, root.realm_id)


def holdings(loaded: Loaded, people: Collection[Principal]) -> dict[Principal, HeldSides]:
    return {person: held(loaded, person.pk) for person in people}


def load(
    realm: Realm, people: Sequence[Principal], *, as_of: int | None = None
) -> dict[Principal, HeldSides]:
    """What some people have in a realm, now or as of a revision.  One query."""
    return holdings(facts.load(realm, "", [person.pk for person in people], as_of=as_of), people)
