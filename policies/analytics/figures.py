"""The figures of effective access of a small realm, from the console's database and the law itself.

They are those that the pipeline works out on Spark for a large one: here every class of people who are alike
is decided on every object.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.base import Dialect
from lakewarden.law.facts import contains
from lakewarden.spark.pipelines.figures import FOREMOST, classes
from lakewarden.spark.pipelines.inherited_facts import privileges_telling
from lakewarden.spark.pipelines.reach_counts import actions, data_types
from policies.decisions import facts
from policies.models import Assignment, Grant
from policies.models import Counter as Revisions
from policies.record.exports.tables import TABLES, Moment

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)
Numbers = dict[str, list[int]]
"""People and services by action."""


class Measured:
    """A realm as it is now, decided by the law: who can do what to how many objects.

    For realms of some hundred thousand pairs at the most; a few queries, then some microseconds a decision.
    """

    def __init__(self, root: Node, *, now: datetime) -> None:
        self.root, self.now, self.law = root, now, dialects.get(root.kind)
        self.data = data_types(self.law)
        self.people = {row.pk: row for row in _people(root, now)}
        self.services = {pk for pk, row in self.people.items() if row.kind == Principal.Kind.SERVICE}
        self.places = [root, *nodes(all_below(root.id).values_list("securable", flat=True)).values()]
        realm = Realm(pk=root.realm_id, kind=root.kind)
        self.loaded = facts.load(realm, root.realm, self.people, now=now)
        # people of whom everything is the same, with the one slice that they have in common
        counts: dict[object, list[int]] = defaultdict(list)
        for pk, row in self.people.items():
            counts[self.loaded.signature_of(pk), facts.is_service_admin(row)].append(pk)
        self._classes = [(self.loaded.slice_of(self.people[alike[0]]), alike) for alike in counts.values()]

    def figures(self) -> dict[str, Any]:
        """The same as lakewarden.spark.pipelines.figures.gathered answers, the samples apart."""
        pairs: dict[str, Counter[str]] = defaultdict(Counter)
        by_person: dict[int, Counter[str]] = defaultdict(Counter)
        exposed = []
        for node in self.places:
            able = {name: self._able(node, operation) for name, operation in actions(self.law, node.type)}
            for name, people in able.items():
                pairs[node.type][name] += len(people)
                if node.type in self.data:
                    for person in people:
                        by_person[person][name] += 1
            if node.type in self.data and able.get("read"):
                exposed.append((node.id, {name: self._numbers(people) for name, people in able.items()}))
        return {
            "objects": dict(Counter(node.type for node in self.places)),
            "pairs": {type: dict(counts) for type, counts in pairs.items()},
            **self._people_figures(by_person),
            "exposed": _foremost([(key, sum(counts["read"]), counts) for key, counts in exposed]),
            "broadest": _foremost(self._roles()),
        }

    def _able(self, node: Node, operation: str) -> list[int]:
        moment = self.now.timestamp()
        return [
            person
            for slice_, alike in self._classes
            if engine.decide(slice_, operation, node.levels, now=moment)
            for person in alike
        ]

    def _numbers(self, people: Iterable[int]) -> list[int]:
        kinds = Counter(person in self.services for person in people)
        return [kinds[False], kinds[True]]

    def _people_figures(self, by_person: Mapping[int, Counter[str]]) -> dict[str, Any]:
        read = {person: counts["read"] for person, counts in by_person.items() if counts["read"]}
        members = self.people.keys() if self.law.open_to_all else self.loaded.members
        return {
            "people": {
                "all": len(self.people) - len(self.services),
                "services": len(self.services),
                "members": len(members),
                "reading": len(read),
            },
            "reach": classes([read.get(person, 0) for person in self.people]),
            "furthest": _foremost(
                [(person, most, dict(sorted(by_person[person].items()))) for person, most in read.items()]
            ),
        }

    def _roles(self) -> Iterable[tuple[int, int, dict[str, int]]]:
        """The roles that several people may hold: on how many objects each gives something, and to whom."""
        rows = Grant.objects.open().within(self.now).filter(role__realm=self.root.realm_id, effect="allow")
        given: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for role, on, code in rows.exclude(securable=None).values_list("role", "securable", "privilege"):
            given[role].append((on, code))
        names = {node.id: node.name for node in self.places if node.type == "role"}
        for role, held in given.items():
            reached = sum(node.type in self.data and _gives(self.law, held, node) for node in self.places)
            if reached and not names.get(role, "~").startswith("~"):
                yield role, reached, {"objects": reached, "people": len(self._holders(role))}

    def _holders(self, role: int) -> set[int]:
        held = Assignment.objects.open().within(self.now).filter(role=role)
        holders = set(held.values_list("holder", flat=True))
        return {
            person
            for person in self.people
            if person in holders
            or any(
                group in holders and contains(window, self.now.timestamp())
                for group, _, window in self.loaded.groups.get(person, ())
            )
        }


def _people(root: Node, now: datetime) -> list[Principal]:
    """Everybody of whom the realm's facts speak, as the export counts them."""
    realm = Realm.objects.get(pk=root.realm_id)
    [table] = [item for item in TABLES if item.name == "principals"]
    moment = Moment(root, realm, Revisions.objects.get().revision, now)
    keys = [row[0] for rows in table.rows(moment) for row in rows]
    return list(Principal.objects.filter(pk__in=keys, kind__in=PEOPLE).order_by("pk"))


def _gives(law: Dialect, held: Iterable[tuple[int, str]], node: Node) -> bool:
    """Whether one of the grants gives something on the object, itself or from above."""
    types = {level.key: level.type for level in node.levels}
    for on, code in held:
        privilege = law.privilege(code)
        if privilege is None or on not in types or not {types[on], node.type} <= privilege.binds:
            continue
        if privilege.bit & privileges_telling(law, node.type):
            return True
    return False


def _foremost(rows: Iterable[tuple[int, int, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda row: (-row[1], row[0]))[:FOREMOST]
    return [{"key": key, "weight": weight, "numbers": numbers} for key, weight, numbers in ordered]
