"""What a program takes along when it cannot ask each time: one principal's facts in one realm, with names.

Facts are read in one statement; names and locations in a second one, as they were at the facts' revision.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.utils.crypto import salted_hmac

from accounts.models import Principal
from accounts.text import holdable
from catalog.models import Realm
from catalog.models.securables import is_detail_sealed
from catalog.nodes import Node
from lakewarden.client.snapshot import NESTED, SCHEMA, SCHEMA_OFF, any_case, inside_of, key_in, veiled
from lakewarden.law import dialects
from lakewarden.law.facts import Key, Level, Rule, Slice, Station, contains
from lakewarden.law.locations import above, normal
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask, facts, switches
from policies.decisions.facts import Loaded
from policies.errors import Unsealed

PERIOD = timedelta(minutes=5)
"""Snapshots are dated to the beginning of such a period, so that one that did not change stays the same."""
LASTING = timedelta(hours=1)
STRANGER = -1

_NAMES = """
WITH located AS (
    SELECT d.securable_id, CASE WHEN d.content ? 'storageLocations' THEN d.content -> 'storageLocations'
           ELSE jsonb_build_object('', d.content #> '{properties,location}') END AS places,
           jsonb_build_array(d.content -> 'storageLocations', d.content #> '{properties,location}',
               d.content -> 'principal', d.content -> 'in_use', d.properties -> 'connected') AS decides,
           d.edition, d.seal
      FROM catalog_detail d JOIN catalog_securable s ON s.id = d.securable_id AND s.realm_id = %(realm)s
     WHERE s.type IN ('table', 'fileset')
       AND (d.content ? 'storageLocations' OR (d.content -> 'properties') ? 'location')),
asked AS (
    SELECT unnest(%(objects)s::bigint[]) AS id
    UNION SELECT securable_id FROM located
    UNION SELECT p.securable_id FROM catalog_placement p
     WHERE p.type = 'schema' AND p.name::text LIKE '%%:%%' AND p.parent_id = p.scope_id
       AND p.ancestors[1] = %(root)s),
way AS (
    SELECT p.securable_id AS id, p.ancestors FROM catalog_placement p JOIN asked ON asked.id = p.securable_id
     WHERE {p}),
named AS (SELECT id FROM way UNION SELECT unnest(ancestors) FROM way)
SELECT p.securable_id, p.type, p.name, p.ancestors, located.places::text, located.decides::text,
       located.edition, located.seal
  FROM named JOIN catalog_placement p ON p.securable_id = named.id AND {p}
  LEFT JOIN located ON located.securable_id = named.id
""".replace("{p}", "p.opened <= %(revision)s AND (p.closed IS NULL OR p.closed > %(revision)s)")


@dataclass(frozen=True)
class SnapshotSource:
    """A principal's slice of a realm, until when it is good, and the names of what it speaks of."""

    slice: Slice
    until: float | None
    nodes: dict[Key, Node]
    places: dict[Key, tuple[str, ...]]
    groups: tuple[str, ...]
    off: frozenset[Key] = frozenset()


def hold(subject: Principal, root: Node, *, now: datetime) -> SnapshotSource:
    """Everything of one principal in one realm.  Two queries, and one when something was changed.

    Raises Unsealed.
    """
    loaded = _load(subject, root, now)
    slice_ = loaded.slice_of(subject, _number(subject))
    off = switches.off.at(slice_.revision)
    nodes, places = _named(slice_, root, off)
    groups = tuple(
        name
        for _, name, window in loaded.groups.get(_number(subject), ())
        if contains(window, now.timestamp())
    )
    return SnapshotSource(
        slice_, loaded.good_until(_number(subject)), nodes, places, groups, off & nodes.keys()
    )


def belongs(slice_: Slice) -> bool:
    """Whether a realm is anything to the slice's principal; else it must look like one that is not there."""
    return slice_.member or slice_.service_admin or bool(slice_.rules)


def document(held: SnapshotSource, root: Node, viewers: Sequence[Slice], *, now: datetime) -> dict[str, Any]:
    """The snapshot as it is sent, without its digest.  No queries.

    What neither the principal nor a viewer may know of stands there by a digest of its name.
    """
    return _Wire(held, root, [held.slice, *viewers], now).document()


def _load(subject: Principal, root: Node, now: datetime) -> Loaded:
    realm = Realm(pk=root.realm_id, kind=root.kind)
    if subject.pk:
        return facts.load(realm, root.realm, [subject.pk], now=now)
    by_name = subject.kind in (Principal.Kind.USER, Principal.Kind.SERVICE) and holdable(subject.name)
    return facts.load(realm, root.realm, (), now=now, strangers={STRANGER: subject.name} if by_name else {})


def _number(subject: Principal) -> int:
    return subject.pk or STRANGER


def _named(
    slice_: Slice, root: Node, off: Collection[Key]
) -> tuple[dict[Key, Node], dict[Key, tuple[str, ...]]]:
    """What the slice speaks of, what is off, and what has data somewhere.  One query.

    Raises Unsealed where somebody wrote past the console where data lies.
    """
    if not belongs(slice_):
        return {root.id: root}, {}
    keys = {root.id, *(rule.object for rule in slice_.rules), *slice_.selves, *off}
    values: dict[str, Any] = {
        "realm": root.realm_id,
        "root": root.id,
        "revision": slice_.revision,
        "objects": [key for key in keys if isinstance(key, int)],
    }
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, values)
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    nodes = ((key, _node(key, rows, root)) for key in rows)
    places = {key: tuple(_texts(row[3])) for key, row in rows.items() if row[3]}
    for key in places:
        *_, decides, edition, seal = rows[key]
        if not is_detail_sealed(key, edition, json.loads(decides), seal):
            # nobody can say where its data lies, so none of the places of the realm is known
            raise Unsealed(f"detail:{key}")
    return {key: node for key, node in nodes if node}, places


def _node(key: int, rows: dict[int, tuple[Any, ...]], root: Node) -> Node | None:
    chain = [*rows[key][2], key]
    if chain[0] != root.id or any(item not in rows for item in chain):
        return None
    levels = tuple(Level(rows[item][0], item) for item in chain)
    return Node(key, root.realm_id, root.kind, levels, tuple(rows[item][1] for item in chain))


def _texts(places: str) -> Iterable[str]:
    value = json.loads(places)
    return (each for each in value.values() if isinstance(each, str)) if isinstance(value, dict) else ()


class _Wire:
    """Numbers of objects to names, in the order in which they are first spoken of."""

    def __init__(self, held: SnapshotSource, root: Node, viewers: Sequence[Slice], now: datetime) -> None:
        self.held, self.root, self.viewers, self.now = held, root, viewers, now
        self.law = dialects.get(held.slice.dialect)
        self.salt = salted_hmac("snapshot", f"{root.realm_id}/{held.slice.principal}").hexdigest()[:32]
        self.names: list[list[str] | str] = []
        self.numbers: dict[Key, int] = {}
        self.spellings: list[list[str | int]] = []
        self.stations: dict[tuple[str, str], int] = {}
        self.ways: dict[tuple[int, ...], int] = {}

    def document(self) -> dict[str, Any]:
        slice_, issued = self.held.slice, dated(self.now)
        change = [each for each in (slice_.next_change_at, self.held.until) if each is not None]
        self.number(self.root)
        content = {
            "facts": [self.fact(rule) for rule in self.rules()],
            "selves": [*self.selves()],
            "apart": [*self.apart()],
            **self.off(),
        }
        locations, hidden = self.locations()
        return {
            "schema": SCHEMA_OFF if "off" in content else SCHEMA,
            "realm": self.root.realm,
            "principal": str(slice_.principal),
            "dialect": slice_.dialect,
            "revision": slice_.revision,
            "issued": issued.isoformat(),
            "expires": (issued + LASTING).isoformat(),
            "next_change_at": _moment(min(change, default=None)),
            "mode": slice_.mode,
            "member": slice_.member,
            "service_admin": slice_.service_admin,
            **content,
            "stations": [list(station) for station in self.stations],
            "ways": [list(way) for way in self.ways],
            "names": self.names,
            "locations": locations,
            "hidden": hidden,
            "spellings": self.spellings,
            "salt": self.salt,
        }

    def rules(self) -> Iterable[Rule]:
        nodes = self.held.nodes
        rules = (
            rule for rule in self.held.slice.rules if isinstance(rule.object, str) or rule.object in nodes
        )
        return sorted(rules, key=lambda rule: (rule.opened, str(rule.fact), [*map(str, rule.via)]))

    def fact(self, rule: Rule) -> list[Any]:
        """On what, which privilege, whether allowed, by which way, since when, which fact, and its window."""
        nodes, way = self.held.nodes, tuple(self.station(station) for station in rule.via)
        row = [
            self.text(rule.object) if isinstance(rule.object, str) else self.number(nodes[rule.object]),
            rule.privilege,
            int(rule.allow),
            self.ways.setdefault(way, len(self.ways)),
            rule.opened,
            rule.fact,
        ]
        if rule.valid_from is None and rule.valid_until is None:
            return row
        return [*row, _moment(rule.valid_from), _moment(rule.valid_until)]

    def text(self, text: str) -> int:
        """Where a text stands that the law gives privileges on; it is no name of anything that exists."""
        if text not in self.numbers:
            self.numbers[text] = len(self.names)
            self.names.append([text])
        return self.numbers[text]

    def station(self, station: Station) -> int:
        return self.stations.setdefault((station.kind, station.name), len(self.stations))

    def number(self, node: Node) -> int:
        """Where the object's name stands; by digest when the snapshot's reader may not know of it."""
        if node.id not in self.numbers:
            self.numbers[node.id] = len(self.names)
            ref, key = node.ref, self.key(node.ref)
            seen = self.seen(node)
            self.names.append([ref.type, ref.id] if seen else self.veil(key))
            if not seen:  # where case does not count, a program asks by another spelling
                self.spellings.append([self.veil(any_case(key)), self.numbers[node.id]])
        return self.numbers[node.id]

    def key(self, ref: ObjectRef) -> str:
        return key_in(self.law, ref)

    def veil(self, text: str) -> str:
        return veiled(self.salt, text)

    def seen(self, node: Node) -> bool:
        if node.id == self.root.id:
            return True
        return any(ask.may_see(viewer, node, now=self.now) for viewer in self.viewers)

    def selves(self) -> Iterable[int]:
        """The roles held, the principal's groups and the principal, as objects of the law."""
        roles = sorted(key for key in self.held.slice.selves if isinstance(key, int))
        yield from (self.number(self.held.nodes[key]) for key in roles if key in self.held.nodes)
        own = self.held.slice.principal
        kinds = [("group", name) for name in sorted(self.held.groups)]
        for kind, name in [(own.kind, own.name), *kinds]:
            if kind in self.law.types:
                self.names.append([kind, ObjectRef(kind, self.root.realm, (name,)).id])
                yield len(self.names) - 1

    def off(self) -> dict[str, list[int]]:
        """What is switched off, where anything is."""
        nodes = self.held.nodes
        off = [self.number(nodes[key]) for key in sorted(self.held.off, key=str)]
        return {"off": off} if off else {}

    def apart(self) -> Iterable[tuple[int, list[int]]]:
        """Schemas that stand elsewhere than their names tell, each with the schemas it does stand in."""
        nodes = self.held.nodes
        for node in sorted(nodes.values(), key=lambda node: node.id):
            inside = [level.key for level in node.levels[:-1] if level.type == "schema"]
            if node.type == "schema" and [nodes[key].name for key in inside] != _schemas_above(node.name):
                yield self.number(node), [self.number(nodes[key]) for key in inside]

    def locations(self) -> tuple[dict[str, int | list[int]], list[str]]:
        """Places by the objects whose data lies there; digests for hidden ones that lie in those or around.

        A hidden place that lies in a known one is told by the folders between the two as well, so that
        nobody reads it by reading a folder above it.
        """
        numbers: dict[str, list[int]] = {}
        unseen: set[str] = set()
        for key, texts in sorted(self.held.places.items(), key=lambda each: str(each[0])):
            node = self.held.nodes.get(key)
            places = {place for place in map(normal, texts) if place is not None}
            if node is not None and self.seen(node):
                for place in sorted(places):
                    numbers.setdefault(place, []).append(self.number(node))
            else:
                unseen |= places
        beyond = {place for number in numbers for place in above(number)}
        hidden = {place for place in unseen if place in beyond}
        for place in unseen:
            way = list(above(place))
            numbers_here = [number for number, place in enumerate(way) if place in numbers]
            if numbers_here:
                hidden |= {place, *map(inside_of, way[1 : numbers_here[-1] + 1])}
        by_place = {place: on[0] if len(on) == 1 else on for place, on in numbers.items()}
        return by_place, sorted(map(self.veil, hidden))


def _schemas_above(name: str) -> list[str]:
    """The schemas that a schema of that name would stand in."""
    parts = name.split(NESTED)
    return [NESTED.join(parts[:length]) for length in range(1, len(parts))]


def dated(now: datetime) -> datetime:
    """The beginning of the period that a snapshot made now is dated to."""
    seconds = PERIOD.total_seconds()
    return datetime.fromtimestamp(now.timestamp() // seconds * seconds, UTC)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
