"""One principal's facts in one realm, for programs that cannot ask the console each time.

A snapshot is good from `issued` until `expires`, and never beyond `next_change_at`, the next moment at which
a fact in it begins or ends.  Objects are known by type and id text (`table:demo/shop.sales.orders`), so what
is above an object is read off its name alone.  Names and locations that neither the principal nor the asker
may know of travel as salted digests: a rule on them counts, and nobody reads them off.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Union

from lakewarden.client.transport import ConsoleError
from lakewarden.law import dialects, engine
from lakewarden.law.dialects import Dialect, UnknownDialect
from lakewarden.law.engine import UNKNOWN_OBJECT, Decision, Standing
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Explanation, Node, explain
from lakewarden.law.facts import Level, Lineage, Rule, Slice, Station
from lakewarden.law.locations import above, normal
from lakewarden.law.objects import ObjectRef, join_name
from lakewarden.law.principals import BadPrincipal, Principal
from lakewarden.law.switches import SWITCHED_OFF, blocking

SCHEMA = 3
"""What a snapshot must tell.  One of schema 1 or 2 may lack folders of hidden places, and other
spellings of names: what it does not speak of would count as not there."""
SCHEMA_OFF = 4
"""With what is switched off in it: a client that would not heed that refuses the whole."""
SKEW = 120.0
"""How many seconds the console's clock may be ahead of ours."""
LONGEST = 24 * 3600.0
"""No snapshot may claim to be good for longer than this, in seconds."""
NESTED = ":"
MOST_CONTAINERS = 10_000
"""The levels above so many objects are remembered."""

Data = Union[bytes, str, Mapping[str, Any]]


class BadSnapshot(ConsoleError, ValueError):
    """What should be a snapshot is none, or none to go by.

    `code` is `unreadable`, `schema`, `digest`, `clock`, `expired`, `other` (not the one asked for) or
    `older` (than one seen before).
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self))


class ReachableObjects(NamedTuple):
    """The objects whose data a place may hold.

    `around` are those that it lies in, the nearest first, and `within` those whose places lie inside it;
    `whole` says that there are no more of either, for such as may not be known count too.
    """

    around: tuple[ObjectRef, ...]
    within: tuple[ObjectRef, ...]
    whole: bool


class _Container(NamedTuple):
    """The levels down to a container, how the keys of one type in it begin, and what is held over those."""

    levels: Lineage
    begins: str
    standing: Standing | None


@dataclass(frozen=True)
class Snapshot:
    """What was true of one principal in one realm; times are seconds since 1970.

    `locations` maps the places where data lies to the objects they belong to, more than one where several
    say the same place.  `hidden` are the digests of keys and places that may not be read off, and of the
    places that such a place lies in (see `around`); `apart` has the schemas whose real way down is not the
    one that their names tell.  `hidden_spellings` leads from the digest of a key in any case to those of the
    keys.  `off` are the keys of what is switched off.
    """

    realm: str
    principal: Principal
    dialect: str
    slice: Slice
    revision: int = 0
    issued: float = 0.0
    expires: float = float("inf")
    next_change_at: float | None = None
    digest: str = ""
    locations: Mapping[str, tuple[ObjectRef, ...]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    salt: str = ""
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hidden_spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    _known_containers: dict[tuple[str, tuple[str, ...]], _Container] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def read(cls, data: Data, *, now: float | None = None) -> Snapshot:
        """Read what the console sent, checked whole.  Raises BadSnapshot."""
        now = time.time() if now is None else now
        wire = _checked(_object(data))
        try:
            snapshot = _snapshot(wire, now)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, BadPrincipal, UnknownDialect):
            raise BadSnapshot("unreadable", "the snapshot does not have the expected form") from None
        snapshot.check(now)
        return snapshot

    def check(self, now: float) -> None:
        """Raise BadSnapshot unless the snapshot may be gone by at `now`."""
        if self.issued > now + SKEW:
            ahead = f"the snapshot was issued {int(self.issued - now)} s from now"
            raise BadSnapshot("clock", f"{ahead}; set this machine's clock, or the console's")
        if self._claims_too_long:
            raise BadSnapshot("expired", "the snapshot claims to be valid for longer than a day")
        if now >= self.good_until:
            raise BadSnapshot("expired", f"the snapshot of revision {self.revision} is too old to be used")

    @cached_property
    def _claims_too_long(self) -> bool:
        return bool(self.issued) and self.expires - self.issued > LONGEST

    @cached_property
    def _good(self) -> tuple[float, float]:
        """From when until when `check` finds nothing amiss."""
        return self.issued - SKEW, float("-inf") if self._claims_too_long else self.good_until

    @cached_property
    def good_until(self) -> float:
        """The moment from which on it must not be used."""
        return self.expires if self.next_change_at is None else min(self.expires, self.next_change_at)

    def lineage(self, ref: ObjectRef) -> Lineage:
        """The levels from the realm down to an object, read off its name; empty for what cannot be here."""
        return self._located(ref)[0]

    def _located(self, ref: ObjectRef) -> tuple[Lineage, Standing | None]:
        """The same, and what is held over all levels but the last, where that is remembered."""
        container = self._known_containers.get((ref.type, ref.path[:-1]))
        if container is None or ref.realm != self.realm:
            law = self._law
            if law.by_text and isinstance(law, dialects.TextDialect):
                top = Level(law.root_type, self._key(ObjectRef(law.root_type, self.realm)), self.realm)
                return (law.lineage(top, ref.type, ref.path) if ref.realm == self.realm else ()), None
            if law.ignores_case or not ref.path or ref.type == "schema":
                return next(iter(self._lineages(ref, lambda key: ())), ()), None
            if ref.realm != self.realm:
                return (), None
            container = self._remembered(ref)
        above, begins, standing = container
        if not above:
            return (), None
        type, name = ref.type, ref.path[-1]
        key = begins + (join_name((name,)) if "." in name or '"' in name else name)
        if self.hidden:
            key = self._veiled(key)
        if self.apart and key in self.apart:
            return (*above, *(Level(type, each) for each in self.apart[key]), Level(type, key)), None
        return above + (Level(type, key),), standing  # noqa: RUF005  quicker than unpacking

    def _remembered(self, ref: ObjectRef) -> _Container:
        """What lies above an object and all of its type there; no levels for what cannot be here.

        Remembered, because jobs ask about one table of a schema after the other.
        """
        types = self._law.type_path(ref.type, len(ref.path))
        if types is None:
            return _Container((), "", None)
        if len(self._known_containers) >= MOST_CONTAINERS:
            self._known_containers.clear()
        inside = types[-2] if len(types) > 1 else self._law.root_type
        holder = ObjectRef(inside, self.realm, ref.path[:-1])
        above = next(iter(self._lineages(holder, lambda key: ())), ())
        container = _Container(
            above,
            begins=f"{ref.type}:{holder.id}{'.' if holder.path else '/'}",
            standing=engine.descend(self.slice, self._law, above),
        )
        self._known_containers[ref.type, holder.path] = container
        return container

    @cached_property
    def _law(self) -> Dialect:
        return dialects.get(self.dialect)

    def lineages(self, ref: ObjectRef) -> list[Lineage]:
        """The same under every spelling that the snapshot knows of a name, its own first.

        For those who ask about names whose case does not count: only what all of them allow is allowed.
        """
        if isinstance(self._law, dialects.TextDialect) or self._law.ignores_case:
            return [self.lineage(ref)]
        return self._lineages(ref, self._other_spellings)

    def spelled(self, ref: ObjectRef) -> ObjectRef:
        """An object by the one spelling of its name that the snapshot knows, else as it is."""
        types = dialects.get(self.dialect).type_path(ref.type, len(ref.path)) or ()
        for length in range(len(types), 0, -1):
            own = key_of(ObjectRef(types[length - 1], ref.realm, ref.path[:length]))
            keys = [key for key in self._spellings.get(any_case(own), ()) if not key.startswith("?")]
            if len(keys) == 1 and own not in keys:
                object_ref = ObjectRef.parse(*keys[0].split(":", 1))
                return ObjectRef(ref.type, ref.realm, (*object_ref.path, *ref.path[length:]))
            if keys:
                break
        return ref

    def _lineages(self, ref: ObjectRef, also: Callable[[str], Iterable[str]]) -> list[Lineage]:
        law = dialects.get(self.dialect)
        types = law.type_path(ref.type, len(ref.path)) if ref.realm == self.realm else None
        if types is None:
            return []
        root = Level(law.root_type, self._key(ObjectRef(law.root_type, self.realm)))
        lineages: list[Lineage] = [(root,)]
        for depth, type_ in enumerate(types, start=1):
            each = ObjectRef(type_, self.realm, ref.path[:depth])
            keys = dict.fromkeys((self._key(each), *also(key_in(law, each))))
            steps = [tuple(Level(type_, key) for key in (*self._above(each, key), key)) for key in keys]
            lineages = [(*above, *step) for above in lineages for step in steps]
        return lineages

    def _other_spellings(self, key: str) -> Iterable[str]:
        folded = any_case(key)
        veil = veiled(self.salt, folded) if self.hidden else ""
        return (*self._spellings.get(folded, ()), *self.hidden_spellings.get(veil, ()))

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        """The keys that the facts speak of, by what they are in any case."""
        spellings: dict[str, list[str]] = {}
        ruled = (str(rule.object) for rule in self.slice.rules)
        placed = (key_of(ref) for refs in self.locations.values() for ref in refs)
        for key in {*ruled, *self.apart, *placed, *self.off}:
            spellings.setdefault(any_case(key), []).append(key)
        return {folded: sorted(keys) for folded, keys in spellings.items()}

    def decide(
        self, action: str, ref: ObjectRef, *, now: float | None = None, lineage: Lineage | None = None
    ) -> Decision:
        """May the principal do it?  An object that is not there is decided like a new one of its name.

        `lineage` is one of `lineages`.  Raises BadSnapshot once the snapshot is too old.
        """
        now = time.time() if now is None else now
        first, until = self._good
        if not first <= now < until:
            self.check(now)
        operation = self._operations.get((ref.type, action))
        if operation is None:
            operation = self._operations[ref.type, action] = self._law.action(ref.type, action) or action
        lineage, above = self._located(ref) if lineage is None else (lineage, None)
        if not lineage:
            return Decision(False, operation, self.revision, UNKNOWN_OBJECT)
        decision = engine.decide(self.slice, operation, lineage, now=now, above=above)
        if self.off and decision and blocking(lineage, operation, self.off):
            return Decision(False, operation, self.revision, SWITCHED_OFF)
        return decision

    def explain(
        self, action: str, ref: ObjectRef, *, now: float | None = None, lineage: Lineage | None = None
    ) -> Explanation:
        """The same with its reasons; what may not be known reads like what is not there."""
        now = time.time() if now is None else now
        lineage = self.lineage(ref) if lineage is None else lineage
        decision = self.decide(action, ref, now=now, lineage=lineage)
        if not lineage or (not decision and any(level.key in self.hidden for level in lineage)):
            lack = Lack("object", object=key_of(ref), object_type=ref.type, name=str(ref))
            return Explanation(decision, Node(False, "unknown", UNKNOWN_OBJECT), missing=(lack,))
        names = {level.key: str(level.key).partition(":")[2] for level in lineage}
        stopped = blocking(lineage, decision.operation, self.off)
        if decision.reason == SWITCHED_OFF and stopped is not None:
            lack = Lack(SWITCHED_OFF, object=stopped.key, object_type=stopped.type, name=names[stopped.key])
            return Explanation(decision, Node(False, SWITCHED_OFF), missing=(lack,))
        return explain(self.slice, decision.operation, lineage, now=now, names=names)

    def at(self, location: str) -> ObjectRef | None:
        """The object whose data lies at a place or above it, the nearest; None when that may not be known."""
        for place in above(location):
            if self._veils(place):
                return None
            refs = self.locations.get(place)
            if refs is not None:
                return refs[0] if len(refs) == 1 else None
        return None

    def nearest(self, location: str) -> tuple[ObjectRef, ...]:
        """The objects of the nearest place that a place lies in."""
        return next((self.locations[place] for place in above(location) if place in self.locations), ())

    def reach(self, location: str) -> ReachableObjects:
        """Everything that a place lies in, or that lies in it: what reading all of it would read."""
        around: list[ObjectRef] = []
        places = list(above(location))
        whole = bool(places) and not any(map(self._veils, places))
        for place in places:
            around += self.locations.get(place, ())
        if not places:
            return ReachableObjects((), (), whole)
        whole = whole and not self._veils(inside_of(places[0]))
        within = [ref for place in self._inside(places[0]) for ref in self.locations[place]]
        return ReachableObjects(tuple(dict.fromkeys(around)), tuple(dict.fromkeys(within)), whole)

    def _veils(self, place: str) -> bool:
        return bool(self.hidden) and veiled(self.salt, place) in self.hidden

    def _inside(self, place: str) -> list[str]:
        """The places of objects inside a place, by its sorted neighbours."""
        first = inside_of(place)
        places = self._sorted
        start = bisect.bisect_left(places, first)
        return list(itertools.takewhile(lambda place: place.startswith(first), places[start:]))

    @functools.cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.locations)

    @cached_property
    def _operations(self) -> dict[tuple[str, str], str]:
        return {}

    def _key(self, ref: ObjectRef) -> str:
        return self._veiled(key_in(self._law, ref))

    def _veiled(self, key: str) -> str:
        if self.hidden:
            digest = veiled(self.salt, key)
            return digest if digest in self.hidden else key
        return key

    def _above(self, ref: ObjectRef, key: str) -> tuple[str, ...]:
        """The keys of the schemas that a nested one, known by a key, stands in."""
        if key in self.apart:
            return self.apart[key]
        if ref.type != "schema" or NESTED not in ref.path[-1]:
            return ()
        parts = ref.path[-1].split(NESTED)
        names = (NESTED.join(parts[:length]) for length in range(1, len(parts)))
        return tuple(self._key(ObjectRef("schema", self.realm, (*ref.path[:-1], name))) for name in names)


def key_of(ref: ObjectRef) -> str:
    """What a snapshot knows an object by."""
    return f"{ref.type}:{ref.id}"


def key_in(law: Dialect, ref: ObjectRef) -> str:
    """The same, one for all spellings where the law takes any case."""
    return key_of(ObjectRef(ref.type, ref.realm, tuple(map(fold, ref.path))) if law.ignores_case else ref)


def veiled(salt: str, text: str) -> str:
    """The digest that stands for a key or a place; a `?` begins no other key."""
    return "?" + hashlib.sha256(f"{salt}\n{text}".encode(errors="surrogatepass")).hexdigest()[:24]


def inside_of(place: str) -> str:
    """The beginning of all that lies in a place, which is no place itself."""
    return place if place.endswith("/") else f"{place}/"


def canonical(wire: Mapping[str, Any]) -> bytes:
    """The one form in which a snapshot is digested: sorted names, no spaces, ASCII."""
    return json.dumps(wire, sort_keys=True, separators=(",", ":")).encode()


def sealed(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 over its canonical form."""
    bare = {name: value for name, value in wire.items() if name != "digest"}
    return {**bare, "digest": hashlib.sha256(canonical(bare)).hexdigest()}


def fold(name: str) -> str:
    """A name where case and outer spaces do not count; letters without a single capital stay."""
    return "".join(big if len(big := letter.upper()) == 1 else letter for letter in name.strip(" "))


def any_case(text: str) -> str:
    """A text as nobody who takes any case tells it from another; coarser than each of them."""
    return text.upper().casefold()


def _object(data: Data) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return data
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadSnapshot("unreadable", "the snapshot is not a JSON object")
    return value


def _checked(wire: Mapping[str, Any]) -> Mapping[str, Any]:
    given = wire.get("schema")
    if given not in (SCHEMA, SCHEMA_OFF):
        older = isinstance(given, int) and given < SCHEMA
        text = f"this client reads snapshots of schemas {SCHEMA} and {SCHEMA_OFF} alone; update the "
        raise BadSnapshot("schema", text + ("console" if older else "client"))
    try:
        digest = sealed(wire)["digest"]
    except (TypeError, ValueError, RecursionError):
        raise BadSnapshot("unreadable", "the snapshot does not have the expected form") from None
    if wire.get("digest") != digest:
        raise BadSnapshot("digest", "the snapshot was changed on its way: its digest does not match")
    return wire


def _snapshot(wire: Mapping[str, Any], now: float) -> Snapshot:
    law = dialects.get(wire["dialect"])
    principal, next_change = Principal.parse(wire["principal"]), wire["next_change_at"]
    # the keys of names; one that is hidden comes as its digest, a text of the law's as a list of itself
    names = wire["names"]
    keys = (
        [name if isinstance(name, str) else key_in(law, ObjectRef.parse(*name)) for name in names]
        if law.ignores_case
        else [name if isinstance(name, str) else ":".join(name) for name in names]
    )
    ways: dict[str, tuple[str, ...]] = {}
    for folded, number in wire["spellings"]:
        ways[folded] = (*ways.get(folded, ()), keys[number])
    return Snapshot(
        realm=wire["realm"],
        principal=principal,
        dialect=law.code,
        slice=_slice(wire, principal, keys, now),
        revision=int(wire["revision"]),
        issued=_seconds(wire["issued"]),
        expires=_seconds(wire["expires"]),
        next_change_at=None if next_change is None else _seconds(next_change),
        digest=wire["digest"],
        locations=_locations(wire["locations"], wire["names"]),
        hidden=frozenset((*wire["hidden"], *(key for key in keys if key.startswith("?")))),
        salt=wire["salt"],
        apart={keys[number]: tuple(keys[each] for each in way) for number, way in wire["apart"]},
        hidden_spellings=ways,
        off=frozenset(keys[item] for item in wire["off"]) if wire["schema"] == SCHEMA_OFF else frozenset(),
    )


def _slice(wire: Mapping[str, Any], principal: Principal, keys: list[str], now: float) -> Slice:
    stations = [Station(kind, name, f"{kind}:{name}") for kind, name in wire["stations"]]
    vias = [tuple(stations[item] for item in via) for via in wire["ways"]]
    return engine.build(
        principal,
        wire["realm"],
        wire["dialect"],
        int(wire["revision"]),
        [_rule(row, keys, vias) for row in wire["facts"]],
        member=wire["member"] is True,
        service_admin=wire["service_admin"] is True,
        mode=wire["mode"],
        selves=[keys[item] for item in wire["selves"]],
        now=now,
    )


def _rule(row: list[Any], keys: list[str], ways: list[tuple[Station, ...]]) -> Rule:
    on, privilege, allow, way, opened, fact, *window = row
    start, end = (None if item is None else _seconds(item) for item in window or (None, None))
    return Rule(keys[on], privilege, allow == 1, ways[way], start, end, opened, fact)


def _locations(wire: Mapping[str, int | list[int]], names: list[Any]) -> dict[str, tuple[ObjectRef, ...]]:
    locations: dict[str, tuple[ObjectRef, ...]] = {}
    for text, on in wire.items():
        place = normal(text)
        if place is not None:
            numbers = on if isinstance(on, list) else [on]
            locations[place] = (
                *locations.get(place, ()),
                *(ObjectRef.parse(*names[number]) for number in numbers),
            )
    return locations


def _seconds(moment: str) -> float:
    seconds = datetime.fromisoformat(moment)
    if seconds.tzinfo is None:
        raise ValueError("a moment without its zone")
    return seconds.timestamp()
