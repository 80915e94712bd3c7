"""One question, one answer that can speak: for pages, APIs, lists and writes alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import ABSENT, Node
from catalog.queries import all_below, find, nodes
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.engine import Decision
from lakewarden.law.explain import Explanation, explain
from lakewarden.law.facts import Lineage, Slice
from policies.decisions import slices, switches
from policies.decisions.facts import is_service_admin
from policies.errors import Invalid


@dataclass(frozen=True)
class Answer:
    """The decision on one question, with what is needed to explain it."""

    decision: Decision
    slice: Slice
    node: Node
    operation: str
    also: Lineage = ()
    inside: Sequence[Lineage] | None = None

    def __bool__(self) -> bool:
        return self.decision.allowed

    def explained(self, *, now: datetime | None = None) -> Explanation:
        """Why, as a tree; for a no the smallest set of facts that would allow it.  No queries."""
        moment = (now or timezone.now()).timestamp()
        names = {level.key: name for level, name in zip(self.node.levels, self.node.names, strict=True)}
        return explain(
            self.slice,
            self.operation,
            self.node.levels,
            now=moment,
            names=names,
            also=self.also,
            inside=self.inside,
        )


def operation_for(node: Node, action: str) -> str:
    """The dialect's operation behind an action's short name; an unknown one stays itself, and is refused."""
    return switches.as_set(node, dialects.get(node.kind).action(node.type, action) or action)


def ask(
    principal: Principal, action: str, node: Node, *, now: datetime | None = None, also: Lineage = ()
) -> Answer:
    """May the principal do it?  One query when nothing touched its facts since the last question."""
    now = now or timezone.now()
    return answer(slices.current(principal, node, now=now), action, node, now=now, also=also)


def ask_entity(
    principal: Principal,
    action: str,
    root: Node,
    entity: Authorizable,
    *,
    now: datetime | None = None,
    also: Lineage = (),
) -> Answer:
    """The same about an entity of a CDAP, which need not exist.  One query."""
    return ask(principal, action, entity_node(root, entity), now=now, also=also)


def visible_entities(
    principal: Principal, root: Node, entities: Iterable[Authorizable], *, now: datetime | None = None
) -> list[Authorizable]:
    """Those of the entities that lists show to the principal, in their order.  One query."""
    now = now or timezone.now()
    slice_, moment = slices.current(principal, root, now=now), now.timestamp()
    named = ((entity, entity_node(root, entity)) for entity in entities)
    return [entity for entity, node in named if engine.shows(slice_, node.levels, now=moment)]


def entity_node(root: Node, entity: Authorizable) -> Node:
    """The place of an entity by its name alone.  No queries; raises Invalid for what this law cannot name."""
    law = dialects.get(root.kind)
    if isinstance(law, dialects.TextDialect):
        if entity.type == law.root_type and entity.parts == (root.name,):
            return root
        levels = law.lineage(root.levels[0], entity.type, entity.parts)
        if levels:
            return Node(ABSENT, root.realm_id, root.kind, levels, tuple(level.name for level in levels))
    raise Invalid(gettext("%(entity)s names nothing in %(realm)s") % {"entity": entity, "realm": root.name})


def answer(
    slice_: Slice,
    action: str,
    node: Node,
    *,
    now: datetime,
    also: Lineage = (),
    inside: Sequence[Lineage] | None = None,
) -> Answer:
    """The same on a slice at hand, without a query; `also` is the lineage of a second object it is about.

    What is to be allowed on everything in the object needs that `inside`, or two queries to find it.
    """
    operation = operation_for(node, action)
    if inside is None and asks_inside(node, operation):
        inside = [item.levels for item in inside_of(node)]
    moment = now.timestamp()
    decision = engine.decide(slice_, operation, node.levels, now=moment, also=also, inside=inside)
    return Answer(decision, slice_, node, operation, also, inside)


def asks_inside(node: Node, operation: str) -> bool:
    """Whether the operation turns on what is in the object, too."""
    test = dialects.get(node.kind).test(operation, node.type)
    return test is not None and bool(test.operation.each)


def inside_of(node: Node) -> list[Node]:
    """Everything that exists in an object, which may be known by name alone."""
    inside_node = node if node.exists else find(node.ref)
    if inside_node is None:
        return []
    return list(nodes(all_below(inside_node.id).values_list("securable", flat=True)).values())


def ask_site(principal: Principal, kind: str, operation: str) -> Decision:
    """May the principal do what is asked of no realm, such as making one of this kind?"""
    now = timezone.now().timestamp()
    admin = is_service_admin(principal)
    bare = engine.build(principal.ref, "", kind, 0, (), member=False, service_admin=admin, now=now)
    return engine.decide(bare, operation, (), now=now)


def may_see(slice_: Slice, node: Node, *, now: datetime) -> bool:
    """Whether the object exists for the asker: the condition of using it, or else of loading it."""
    law = dialects.get(node.kind)
    if law.by_text:
        # people who give access must see on what
        shown = engine.shows(slice_, node.levels, now=now.timestamp())
        return shown or bool(answer(slice_, "grant", node, now=now))
    used = "use" in law.actions_for(node.type)
    return bool(answer(slice_, "use" if used else "read", node, now=now))
