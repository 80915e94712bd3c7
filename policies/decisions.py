"""One question, one answer that can speak: for pages, APIs, lists and writes alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node
from lakewarden import dialects, engine
from lakewarden.engine import Decision
from lakewarden.explain import Explanation, explain
from lakewarden.facts import Lineage, Slice
from policies import slices
from policies.facts import is_service_admin


@dataclass(frozen=True)
class Answer:
    """The decision on one question, with what is needed to explain it."""

    decision: Decision
    slice: Slice
    node: Node
    operation: str

    def __bool__(self) -> bool:
        return self.decision.allowed

    def explained(self, *, now: datetime | None = None) -> Explanation:
        """Why, as a tree; for a no the smallest set of facts that would allow it.  No queries."""
        moment = (now or timezone.now()).timestamp()
        names = {level.key: name for level, name in zip(self.node.levels, self.node.names, strict=True)}
        return explain(self.slice, self.operation, self.node.levels, now=moment, names=names)


def operation_for(node: Node, action: str) -> str:
    """The dialect's operation behind an action's short name; an unknown one stays itself, and is refused."""
    return dialects.get(node.kind).action(node.type, action) or action


def ask(principal: Principal, action: str, node: Node, *, now: datetime | None = None) -> Answer:
    """May the principal do it?  One query when his facts were not touched since the last question."""
    now = now or timezone.now()
    return answer(slices.current(principal, node, now=now), action, node, now=now)


def answer(slice_: Slice, action: str, node: Node, *, now: datetime, also: Lineage = ()) -> Answer:
    """The same on a slice at hand, without a query; `also` is the lineage of a second object it is about."""
    operation = operation_for(node, action)
    decision = engine.decide(slice_, operation, node.levels, now=now.timestamp(), also=also)
    return Answer(decision, slice_, node, operation)


def ask_site(principal: Principal, kind: str, operation: str) -> Decision:
    """May the principal do what is asked of no realm, such as making one of this kind?"""
    now = timezone.now().timestamp()
    admin = is_service_admin(principal)
    bare = engine.build(principal.ref, "", kind, 0, (), member=False, service_admin=admin, now=now)
    return engine.decide(bare, operation, (), now=now)


def may_see(slice_: Slice, node: Node, *, now: datetime) -> bool:
    """Whether the object exists for the asker: the condition of using it, or else of loading it."""
    used = "use" in dialects.get(node.kind).actions_for(node.type)
    return bool(answer(slice_, "use" if used else "read", node, now=now))
