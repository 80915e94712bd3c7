"""What the names in questions mean: which principal, which object, and what lies on the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from django.db.models import Q

from accounts.models import Principal
from authzsite.api.authzen.questions import Entity, Question
from catalog.nodes import Node
from catalog.resolve import find_all, spelled
from lakewarden import dialects
from lakewarden.dialects.cdap.authorizable import Authorizable
from lakewarden.facts import Lineage
from lakewarden.objects import BadName, ObjectRef
from policies import decisions
from policies.errors import Invalid

SUBJECTS = frozenset({Principal.Kind.USER, Principal.Kind.GROUP, Principal.Kind.SERVICE})


@dataclass(frozen=True)
class Case:
    """A question with what its names turned out to be.

    `subject` is an unsaved row when nobody has heard of the name, None for an unknown type of subject.
    `places` are the objects that exist along the name, from the realm on; `node` is the last of them when
    that is the very object asked about.
    """

    question: Question
    subject: Principal | None
    ref: ObjectRef | None
    places: tuple[Node, ...]
    node: Node | None

    @property
    def known(self) -> Node | None:
        """The object asked about, or the last on the way to it, that exists."""
        if self.node is not None and self.node.exists:
            return self.node
        return self.places[-1] if self.places and self.node is not None else None

    @property
    def also(self) -> Lineage:
        """The second object that the action's properties name, in the namespace of the first."""
        law = self.law
        if not isinstance(law, dialects.TextDialect) or self.ref is None:
            return ()
        sent = self.question.action
        beside = law.beside(self.ref.type, sent.name, sent.properties)
        path = (*self.ref.path[:1], beside[1]) if beside else ()
        return law.lineage(self.places[0].levels[0], beside[0], path) if beside else ()

    @property
    def law(self) -> dialects.Dialect | None:
        return dialects.get(self.places[0].kind) if self.places else None

    @property
    def action(self) -> str:
        """The action's name, or the part of it that the properties of the question pick out."""
        _, action, resource = self.question
        if not self.places or self.ref is None:
            return action.name
        sent = {"action": action.properties, "resource": resource.properties}
        return dialects.get(self.places[0].kind).narrowed(self.ref.type, action.name, sent)

    @property
    def operation(self) -> str | None:
        """The law's operation behind the action; None when the law knows none."""
        if not self.places or self.ref is None:
            return None
        return dialects.get(self.places[0].kind).action(self.ref.type, self.action)


def cases(asker: Principal, questions: Sequence[Question]) -> list[Case]:
    """In the order asked; at most one query for people and two for objects, nested schemas apart."""
    subjects = _subjects(asker, [question.subject for question in questions])
    refs = _refs([question.resource for question in questions])
    places = _places({ref for ref in refs if ref is not None})
    return [
        _case(question, subject, ref, places.get(ref, ()) if ref else ())
        for question, subject, ref in zip(questions, subjects, refs, strict=True)
    ]


def _case(
    question: Question, subject: Principal | None, ref: ObjectRef | None, places: tuple[Node, ...]
) -> Case:
    found = places[-1] if places and places[-1].ref == ref else None
    return Case(question, subject, ref, places, found or _imagined(ref, places))


def _imagined(ref: ObjectRef | None, places: tuple[Node, ...]) -> Node | None:
    """An object that need not exist, where the law is about texts."""
    if ref is None or not places or not dialects.get(places[0].kind).by_text:
        return None
    try:
        return decisions.entity_node(places[0], Authorizable(ref.type, ref.path or (ref.realm,)))
    except Invalid:
        return None


def _subjects(asker: Principal, asked: Sequence[Entity]) -> list[Principal | None]:
    wanted = {(each.type, each.id) for each in asked if each.type in SUBJECTS}
    known = _known(wanted - {(asker.kind, asker.name)}) | {(asker.kind, asker.name): asker}
    strangers = {pair: Principal(kind=pair[0], name=pair[1]) for pair in wanted - known.keys()}
    return [(known | strangers).get((each.type, each.id)) for each in asked]


def _known(pairs: set[tuple[str, str]]) -> dict[tuple[str, str], Principal]:
    kinds: dict[str, list[str]] = {}
    for kind, name in pairs:
        if storable(name):
            kinds.setdefault(kind, []).append(name)
    if not kinds:
        return {}
    wanted = Q()
    for kind, names in kinds.items():
        wanted |= Q(kind=kind, name__in=names)
    return {(row.kind, row.name): row for row in Principal.objects.filter(wanted)}


def _refs(asked: Sequence[Entity]) -> list[ObjectRef | None]:
    refs = [_ref(each) for each in asked]
    kept = iter(spelled([ref for ref in refs if ref is not None]))
    return [next(kept) if ref is not None else None for ref in refs]


def _ref(resource: Entity) -> ObjectRef | None:
    try:
        return ObjectRef.parse(resource.type, resource.id) if storable(resource.id) else None
    except BadName:
        return None


def storable(text: str) -> bool:
    """Whether the database could hold it at all: no NUL, no halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _places(refs: Iterable[ObjectRef]) -> dict[ObjectRef, tuple[Node, ...]]:
    wanted = list(refs)
    found = dict(zip(wanted, find_all(wanted), strict=True))
    ways = {ref: _ways(ref) for ref, node in found.items() if node is None}
    steps = list(dict.fromkeys(chain.from_iterable(ways.values())))
    above = dict(zip(steps, find_all(steps), strict=True)) if steps else {}
    return {
        ref: _along(node, ref) if node else tuple(filter(None, map(above.get, ways[ref])))
        for ref, node in found.items()
    }


def _ways(ref: ObjectRef) -> list[ObjectRef]:
    """The names above a name, realm first, as far as any law can read it."""
    found = []
    for law in dialects.every():
        steps = law.steps_to(ref.type, ref.path)
        if steps is not None:
            above = (law.root_type, *(type_ for type_, _ in steps[:-1])) if steps else ()
            found += [ObjectRef(type_, ref.realm, ref.path[:at]) for at, type_ in enumerate(above)]
    return list(dict.fromkeys(found))


def _along(node: Node, ref: ObjectRef) -> tuple[Node, ...]:
    # a nested schema `A:B` stands below `A`, but `A` is no part of its name
    return tuple(place for place in (*node.above(), node) if place.path == ref.path[: len(place.path)])
