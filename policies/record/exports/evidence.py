"""Evidence: who had access on a day, by which facts, who made and ended them, and proof that it is on record.

A row of evidence names the facts it rests on; the changes that began and ended them come along whole, each
with its way up the Merkle tree to a signed checkpoint.  `lakewarden.record.bundle` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet

from accounts.fact_content import fact_code
from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Mode, Placement, Realm
from catalog.nodes import Node
from catalog.past import mode_at, nodes_at
from lakewarden.law import dialects, pattern_levels
from lakewarden.law.dialects.cdap import by_settings
from lakewarden.law.facts import Rule
from lakewarden.record.evidence import lot
from lakewarden.record.merkle import ProofMaker
from policies.decisions.lookups.access import AccessMap, depths
from policies.models import Assignment, Change, Checkpoint, Event, Grant, Ownership, RealmMember
from policies.record import checkpoints
from policies.record.archive import reading
from policies.record.change import body_of
from policies.record.revisions import Past

MODELS: dict[str, type[Fact]] = {
    "grant": Grant,
    "ownership": Ownership,
    "assignment": Assignment,
    "membership": Membership,
    "realmmember": RealmMember,
    "mode": Mode,
    "placement": Placement,
}


@dataclass(frozen=True)
class Question:
    """Who had access to an object at a moment; of one person only, or of a sample, when that is asked.

    `reach` are the objects below which whoever asks may take the history away; None is all of it.
    """

    node: Node
    past: Past
    person: Principal | None = None
    sample: int | None = None
    seed: str = ""
    reach: frozenset[int] | None = None

    @property
    def is_sample(self) -> bool:
        return self.sample is not None and self.person is None


@dataclass
class Evidence:
    """What is put into the files: rows, changes with proofs, and the checkpoint they lead to.

    `place` is where the object stood, from the realm down, with the facts that put each where it was.
    `groups` are the pseudonyms of those to which something was given, or that the realm admitted.
    `drawn_from` are the pseudonyms of all from whom a sample was drawn; none when it is no sample.
    """

    question: Question
    checkpoint: Checkpoint
    population: dict[str, int]
    query: str
    rows: list[dict[str, Any]]
    mode: dict[str, str]
    place: list[dict[str, Any]]
    drawn_from: list[str]
    groups: list[str]
    changes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def codes(self) -> set[str]:
        """The facts that all of it rests on."""
        paths = (path for row in self.rows for path in (*row["paths"], *row["way"]))
        codes = {code for path in paths for code in path["facts"]}
        codes |= {code for row in self.rows for name in ("member", "holds") for code in row[name]}
        codes |= {level["fact"] for level in self.place if "fact" in level}
        return codes | ({self.mode["fact"]} if self.mode else set())


def gather(question: Question) -> Evidence:
    """Answer the question from the record and prove each part of it.  Reads all digests of the chain once."""
    checkpoints.make()
    checkpoint = Checkpoint.objects.filter(log=checkpoints.CHANGES).latest("size")
    access = AccessMap(
        question.node,
        now=question.past.moment,
        as_of=question.past.revision,
        whole=True,
        also=question.person,
    )
    people = _chosen(question, list(access.people.values()))
    ways = Ways(access, Stations(question, people))
    everybody = sorted(item.pseudonym for item in access.people.values()) if question.is_sample else []
    rows = [ways.row(person) for person in people]
    population = {
        "people": len(access.people),
        "listed": len(rows),
        "with_access": sum(bool(row["actions"]) for row in rows),
    }
    query, place, mode = str(access.holding.query), _place(question), _mode(question)
    groups = _groups(question, access.holders)
    evidence = Evidence(question, checkpoint, population, query, rows, mode, place, everybody, groups)
    evidence.changes = proved(checkpoint, revisions_of(evidence.codes))
    return evidence


def _mode(question: Question) -> dict[str, str]:
    """Whether the realm's law was enforced, and by which fact; where it was not, every member could."""
    mode = mode_at(question.node.realm_id, question.past.revision)
    if mode is None:
        return {}
    settings = Realm.objects.get(pk=question.node.realm_id).settings
    off = {"settings": "off"} if settings.get("authentication") == "off" else {}
    return {"mode": mode.mode, "fact": fact_code(mode), **off}


def _groups(question: Question, holders: Collection[int]) -> list[str]:
    """The pseudonyms of the groups among the holders, and of those that the realm admitted."""
    admitted = RealmMember.objects.as_of(question.past.revision).filter(realm=question.node.realm_id)
    either = Q(pk__in=list(holders)) | Q(pk__in=admitted.values("principal"))
    rows = Principal.objects.filter(either, kind=Principal.Kind.GROUP)
    return sorted(rows.values_list("pseudonym", flat=True))


def _place(question: Question) -> list[dict[str, Any]]:
    """Each level down to the object, with the fact that put it there if all of that change may be shown."""
    placements = Placement.objects.as_of(question.past.revision).filter(securable__in=question.node.lineage)
    rows = sorted(placements, key=lambda row: len(row.ancestors))
    hidden = _beyond(question.reach, {row.opened for row in rows})
    return [
        {
            "type": row.type,
            "object": row.securable_id,
            "name": row.name,
            **({} if row.opened in hidden else {"fact": fact_code(row)}),
        }
        for row in rows
    ]


def _beyond(reach: frozenset[int] | None, revisions: Collection[int]) -> set[int]:
    """Those of the changes that speak of more than somebody may take away: many objects come in one."""
    if reach is None:
        return set()
    return {item.change_id for item in reading.events_of(revisions) if reach.isdisjoint(item.lineage)}


def _chosen(question: Question, people: list[Principal]) -> list[Principal]:
    people.sort(key=str)
    if question.person:
        return [question.person]
    if question.sample is None or question.sample >= len(people):
        return people
    drawn = sorted(people, key=lambda person: lot(question.seed, person.pseudonym))[: question.sample]
    return sorted(drawn, key=str)


class Stations:
    """The facts that lead a person to a rule: memberships, assignments, being admitted.  Three queries."""

    def __init__(self, question: Question, people: Sequence[Principal]):
        past, realm = question.past, question.node.realm_id
        numbers = [person.pk for person in people]
        self.groups = self._by(
            self._true(Membership, past).filter(member__in=numbers), "group_id", "member_id"
        )
        holders = {*numbers, *(group for group, _ in self.groups)}
        assigned = self._true(Assignment, past).filter(holder__in=holders, role__realm=realm)
        self.roles = self._by(assigned, "role_id", "holder_id")
        admitted = self._true(RealmMember, past).filter(principal__in=holders, realm=realm)
        self.admitted = self._by(admitted, "principal_id", "realm_id")
        self.realm = realm
        self.open = dialects.get(question.node.kind).open_to_all

    def _true(self, model: type[Fact], past: Past) -> QuerySet[Any]:
        """The facts whose window held then; who is in a group twice may be so for two times."""
        return model.objects.as_of(past.revision).within(past.moment)

    def _by(self, rows: Iterable[Any], first: str, other: str) -> dict[tuple[int, int], list[str]]:
        codes: dict[tuple[int, int], list[str]] = {}
        for row in rows:
            codes.setdefault((getattr(row, first), getattr(row, other)), []).append(fact_code(row))
        return codes

    def membership(self, person: Principal) -> list[str]:
        """The facts by which the person was a member: their own, or those of one group."""
        if own := self.admitted.get((person.pk, self.realm)):
            return own
        for (group, member), codes in sorted(self.groups.items()):
            if member == person.pk and (theirs := self.admitted.get((group, self.realm))):
                return [*codes, *theirs]
        return []

    def holds(self, person: Principal, role: int) -> list[str]:
        """The facts by which the person held a role: directly, or in one group that the realm admits."""
        if own := self.roles.get((role, person.pk)):
            return own
        for (group, member), codes in sorted(self.groups.items()):
            admitted = self.admitted.get((group, self.realm), [])
            if member == person.pk and (admitted or self.open) and (theirs := self.roles.get((role, group))):
                return [*codes, *admitted, *theirs]
        return []

    def facts(self, person: Principal, rule: Rule) -> list[str]:
        """Every fact on the way from the person to what the rule gives; not the one that gives it."""
        codes, holder = [*self.admitted.get((person.pk, self.realm), ())], person.pk
        for station in rule.via:
            if station.kind == "group" and isinstance(station.key, int):
                codes += self.groups.get((station.key, holder), ())
                holder = station.key
                codes += self.admitted.get((holder, self.realm), ())
            elif station.kind == "role" and isinstance(station.key, int):
                codes += self.roles.get((station.key, holder), ())
        return codes


class Ways:
    """What each person could do and by which rules, each with the facts that lead to it.

    `paths` tell of the object; the `way` is what else the law asks for, such as the use of its schema.
    """

    def __init__(self, access: AccessMap, stations: Stations):
        self.access, self.stations, self.node = access, stations, access.node
        self.moment, self.telling = access.now.timestamp(), _telling(access.node)
        aliases = (alias for some in access.loaded.aliases.values() for alias in some)
        self.bearers = Principal.objects.in_bulk({holder for holder, _, _ in aliases})

    def row(self, person: Principal) -> dict[str, Any]:
        access = self.access.access_of(person)
        rules = {path.rule for path in access.paths}
        rest = (item for item in access.slice.rules if item not in rules and item.holds_at(self.moment))
        # the names by which the law takes the person for another, by what is given to that one
        loaded = self.access.loaded
        held = ((holder, loaded.direct.get(holder, ())) for holder, _, _ in loaded.aliases.get(person.pk, ()))
        names = {f"grant:{row[-1]}": self.bearers[holder] for holder, rows in held for row in rows}
        return {
            "principal": str(person),
            "name": person.label,
            "pseudonym": person.pseudonym,
            "actions": sorted(access.can),
            "owner": access.owns,
            "paths": [self._path(person, path.rule, names) for path in access.paths],
            "way": [self._path(person, rule, names) for rule in rest if self.telling(rule)],
            "member": self.stations.membership(person),
            "holds": self.stations.holds(person, self.node.id) if self.node.type == "role" else [],
            **({"service_admin": True} if access.slice.service_admin else {}),
        }

    def _path(self, person: Principal, rule: Rule, names: dict[str, Principal]) -> dict[str, Any]:
        bearer, by_settings_alone = names.get(str(rule.fact)), rule.fact in _WITHOUT_FACTS
        way = [] if bearer else self.stations.facts(person, rule)
        return {
            "privilege": rule.privilege,
            "allow": rule.allow,
            "object": rule.object,
            "via": [f"{station.kind} {station.name}" for station in rule.via],
            "valid_from": _moment(rule.valid_from),
            "valid_until": _moment(rule.valid_until),
            "facts": way if by_settings_alone else [*way, str(rule.fact)],
            **({"bearer": {"principal": str(bearer), "pseudonym": bearer.pseudonym}} if bearer else {}),
            **({"ground": rule.fact} if by_settings_alone else {}),
        }


_WITHOUT_FACTS = (*by_settings.GROUNDS, by_settings.AUTHORIZER)


def _telling(node: Node) -> Callable[[Rule], bool]:
    """Whether a rule is about the object, what is above it, or in a text about what is in it."""
    depth_of = depths(node)
    if not dialects.get(node.kind).by_text:
        return lambda rule: depth_of(rule) is not None
    last = pattern_levels.named(node.levels)
    return lambda rule: depth_of(rule) is not None or pattern_levels.names_below(rule, *last)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def proved(checkpoint: Checkpoint, wanted: Iterable[int]) -> list[dict[str, Any]]:
    """The changes of these revisions, up to the checkpoint, each with its proof."""
    revisions = sorted(revision for revision in set(wanted) if revision <= checkpoint.size)
    maker = ProofMaker(revision - 1 for revision in revisions)
    for leaf in checkpoints.leaves(checkpoints.CHANGES, 0, checkpoint.size):
        maker.append(leaf)
    maker.finish()
    events: dict[int, list[Event]] = {revision: [] for revision in revisions}
    for event in reading.events_of(revisions):
        events[event.change_id].append(event)
    return [
        {
            "change": body_of(change, events[change.revision]),
            "previous": change.previous,
            "digest": change.digest,
            "proof": [part.hex() for part in maker.proofs[change.revision - 1]],
        }
        for change in Change.objects.filter(revision__in=revisions).order_by("revision")
    ]


def revisions_of(codes: Iterable[str]) -> set[int]:
    """The revisions at which facts began or ended."""
    numbers: dict[str, set[int]] = {}
    for code in codes:
        name, _, number = code.partition(":")
        numbers.setdefault(name, set()).add(int(number))
    revisions: set[int] = set()
    for name, keys in numbers.items():
        for row in MODELS[name].objects.filter(pk__in=keys).values_list("opened", "closed"):
            revisions |= {revision for revision in row if revision}
    return revisions


def objects_named(evidence: Evidence) -> dict[str, dict[str, str]]:
    """The names, as they were, of all objects that paths speak of; a text is its own name.  Three queries."""
    keys = {path["object"] for row in evidence.rows for path in row["paths"]}
    nodes = nodes_at([key for key in keys if isinstance(key, int)], evidence.question.past.revision)
    texts = {key: {"type": key.partition(":")[0], "id": key} for key in keys if isinstance(key, str)}
    return texts | {str(key): {"type": node.type, "id": node.ref.id} for key, node in nodes.items()}
