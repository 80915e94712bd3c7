"""Evidence: who had access on a day, by which facts, who made and ended them, and proof that it is on record.

A row of evidence names the facts it rests on; the changes that began and ended them come along whole, each
with its way up the Merkle tree to a signed checkpoint.  `lakewarden.record.bundle` checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet

from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Mode
from catalog.nodes import Node
from catalog.past import mode_at, node_at
from lakewarden.facts import Rule
from lakewarden.record.evidence import lot
from lakewarden.record.merkle import ProofMaker
from policies import checkpoints
from policies.access import Access, AccessMap
from policies.archiving import reading
from policies.changes import body_of, fact_code
from policies.models import Assignment, Change, Checkpoint, Event, Grant, Ownership, RealmMember
from policies.past import Past

MODELS: dict[str, type[Fact]] = {
    "grant": Grant,
    "ownership": Ownership,
    "assignment": Assignment,
    "membership": Membership,
    "realmmember": RealmMember,
    "mode": Mode,
}


@dataclass(frozen=True)
class Question:
    """Who had access to an object at a moment; of one person only, or of a sample, when that is asked."""

    node: Node
    past: Past
    person: Principal | None = None
    sample: int | None = None
    seed: str = ""

    @property
    def is_sample(self) -> bool:
        return self.sample is not None and self.person is None


@dataclass
class Evidence:
    """What is put into the files: rows, changes with proofs, and the checkpoint they lead to.

    `drawn_from` are the pseudonyms of all from whom a sample was drawn; none when it is no sample.
    """

    question: Question
    checkpoint: Checkpoint
    population: dict[str, int]
    query: str
    rows: list[dict[str, Any]]
    mode: dict[str, str]
    drawn_from: list[str]
    changes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def codes(self) -> set[str]:
        """The facts that all of it rests on."""
        paths = (path for row in self.rows for path in row["paths"])
        found = {code for path in paths for code in path["facts"]}
        found |= {code for row in self.rows for code in row.get("member", ())}
        return found | ({self.mode["fact"]} if self.mode else set())


def gather(question: Question) -> Evidence:
    """Answer the question from the record and prove each part of it.  Reads all digests of the chain once."""
    checkpoints.make()
    checkpoint = Checkpoint.objects.filter(log=checkpoints.CHANGES).latest("size")
    access = AccessMap(question.node, now=question.past.moment, as_of=question.past.revision, whole=True)
    people = _chosen(question, list(access.people.values()))
    paths = Stations(question, people)
    mode = _mode(question)
    everybody = sorted(one.pseudonym for one in access.people.values()) if question.is_sample else []
    rows = [_row(access.access_of(person), paths, unasked=mode.get("mode") != "on") for person in people]
    population = {
        "people": len(access.people),
        "listed": len(rows),
        "with_access": sum(bool(row["actions"]) for row in rows),
    }
    evidence = Evidence(question, checkpoint, population, str(access.holding.query), rows, mode, everybody)
    evidence.changes = proved(checkpoint, revisions_of(evidence.codes))
    return evidence


def _mode(question: Question) -> dict[str, str]:
    """Whether the realm's law was enforced, and by which fact; where it was not, every member could."""
    mode = mode_at(question.node.realm_id, question.past.revision)
    return {"mode": mode.mode, "fact": fact_code(mode)} if mode else {}


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

    def _true(self, model: type[Fact], past: Past) -> QuerySet[Any]:
        """The facts whose window held then; who is in a group twice may be so for two times."""
        return model.objects.as_of(past.revision).within(past.moment)

    def _by(self, rows: Iterable[Any], one: str, other: str) -> dict[tuple[int, int], list[str]]:
        found: dict[tuple[int, int], list[str]] = {}
        for row in rows:
            found.setdefault((getattr(row, one), getattr(row, other)), []).append(fact_code(row))
        return found

    def membership(self, person: Principal) -> list[str]:
        """The facts by which the person was a member: his own, or those of one group."""
        if own := self.admitted.get((person.pk, self.realm)):
            return own
        for (group, member), codes in sorted(self.groups.items()):
            if member == person.pk and (theirs := self.admitted.get((group, self.realm))):
                return [*codes, *theirs]
        return []

    def facts(self, person: Principal, rule: Rule) -> list[str]:
        """Every fact on the way from the person to what the rule gives."""
        found, holder = [*self.admitted.get((person.pk, self.realm), ())], person.pk
        for station in rule.via:
            if station.kind == "group" and isinstance(station.key, int):
                found += self.groups.get((station.key, holder), ())
                holder = station.key
                found += self.admitted.get((holder, self.realm), ())
            elif station.kind == "role" and isinstance(station.key, int):
                found += self.roles.get((station.key, holder), ())
        return [*found, str(rule.fact)]


def _row(access: Access, stations: Stations, *, unasked: bool) -> dict[str, Any]:
    person = access.principal
    return {
        "principal": str(person),
        "name": person.label,
        "pseudonym": person.pseudonym,
        "actions": sorted(access.can),
        "owner": access.owns,
        "paths": [_path(path.rule, stations.facts(person, path.rule)) for path in access.paths],
        **({"member": stations.membership(person)} if unasked else {}),
    }


def _path(rule: Rule, codes: list[str]) -> dict[str, Any]:
    return {
        "privilege": rule.privilege,
        "allow": rule.allow,
        "object": rule.object,
        "via": [f"{station.kind} {station.name}" for station in rule.via],
        "valid_from": _moment(rule.valid_from),
        "valid_until": _moment(rule.valid_until),
        "facts": codes,
    }


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
    found: set[int] = set()
    for name, keys in numbers.items():
        for row in MODELS[name].objects.filter(pk__in=keys).values_list("opened", "closed"):
            found |= {revision for revision in row if revision}
    return found


def objects_named(evidence: Evidence) -> dict[str, dict[str, str]]:
    """The names, as they were, of all objects that paths speak of."""
    keys = {path["object"] for row in evidence.rows for path in row["paths"]}
    found = {key: node_at(key, evidence.question.past.revision) for key in keys}
    return {str(key): {"type": node.type, "id": node.ref.id} for key, node in found.items() if node}
