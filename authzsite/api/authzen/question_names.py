"""What the names in questions mean: which principal, which object, and what lies on the way to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.db import connection

from accounts.models import Principal
from authzsite.api.authzen.questions import Entity, Question
from catalog.nodes import Node
from catalog.resolve import spelled
from lakewarden.law import dialects
from lakewarden.law.facts import Lineage
from lakewarden.law.objects import BadName, ObjectRef
from policies.decisions.lookups import resolve_path

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

    def nowhere(self) -> Case:
        """The same question where nothing of that name is to be known."""
        return replace(self, places=(), node=None)

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

    @cached_property
    def law(self) -> dialects.Dialect | None:
        return dialects.get(self.places[0].kind) if self.places else None

    @cached_property
    def action(self) -> str:
        """The action's name, or the part of it that the properties of the question pick out."""
        _, action, resource = self.question
        if not self.places or self.ref is None:
            return action.name
        sent = {"action": action.properties, "resource": resource.properties}
        return dialects.get(self.places[0].kind).narrowed(self.ref.type, action.name, sent)

    @cached_property
    def operation(self) -> str | None:
        """The law's operation behind the action; None when the law knows none."""
        if not self.places or self.ref is None:
            return None
        return dialects.get(self.places[0].kind).action(self.ref.type, self.action)


def cases(asker: Principal, questions: Sequence[Question]) -> list[Case]:
    """In the order asked; at most one query for people and two for objects, nested schemas apart."""
    subjects = _subjects(asker, [question.subject for question in questions])
    refs = _refs([question.resource for question in questions])
    places = resolve_path.places({ref for ref in refs if ref is not None})
    return [
        _case(question, subject, ref, places.get(ref, ()) if ref else ())
        for question, subject, ref in zip(questions, subjects, refs, strict=True)
    ]


def _case(
    question: Question, subject: Principal | None, ref: ObjectRef | None, places: tuple[Node, ...]
) -> Case:
    node = resolve_path.named_by(ref, places) if ref else None
    return Case(question, subject, ref, places, node)


def _subjects(asker: Principal, entities: Sequence[Entity]) -> list[Principal | None]:
    wanted = {(each.type, each.id) for each in entities if each.type in SUBJECTS}
    principals = _known(wanted - {(asker.kind, asker.name)}) | {(asker.kind, asker.name): asker}
    strangers = {pair: Principal(kind=pair[0], name=pair[1]) for pair in wanted - principals.keys()}
    return [(principals | strangers).get((each.type, each.id)) for each in entities]


def _known(pairs: set[tuple[str, str]]) -> dict[tuple[str, str], Principal]:
    names = [(str(kind), name) for kind, name in pairs if storable(kind + name)]
    if not names:
        return {}
    # written out, because building a query costs more than asking it
    with connection.cursor() as cursor:
        cursor.execute(_PRINCIPALS, [[kind for kind, _ in names], [name for _, name in names]])
        rows = [Principal.from_db(connection.alias, _COLUMNS, row) for row in cursor.fetchall()]
    return {(row.kind, row.name): row for row in rows}


_COLUMNS = [field.attname for field in Principal._meta.concrete_fields]
_PRINCIPALS = f"""
SELECT {", ".join(f"p.{column}" for column in _COLUMNS)} FROM accounts_principal p
  JOIN unnest(%s::text[], %s::text[]) asked(kind, name) ON asked.kind = p.kind AND asked.name = p.name
"""  # noqa: S608 - no outside text


def _refs(entities: Sequence[Entity]) -> list[ObjectRef | None]:
    refs = [_ref(each) for each in entities]
    kept = iter(spelled([ref for ref in refs if ref is not None]))
    return [next(kept) if ref is not None else None for ref in refs]


def _ref(resource: Entity) -> ObjectRef | None:
    try:
        return ObjectRef.parse(resource.type, resource.id) if storable(resource.type + resource.id) else None
    except BadName:
        return None


def storable(text: str) -> bool:
    """Whether the database could hold it at all: no NUL, no halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
