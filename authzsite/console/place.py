"""Who asks about which object: the one door to every page about one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.http import Http404
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.requests import Request, asker_of
from catalog.nodes import Node
from catalog.queries import node as find_node
from lakewarden.facts import Slice
from policies import access_log, decisions, slices
from policies.authority import Actor
from policies.services import duties

VIA = "console"


@dataclass(frozen=True)
class Place:
    """An object that the asker may see, with what he may do to it."""

    asker: Principal
    node: Node
    slice: Slice
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor(self.asker, VIA)

    def may(self, action: str) -> bool:
        return bool(decisions.answer(self.slice, action, self.node, now=self.now))

    @cached_property
    def may_grant(self) -> bool:
        return self.may("grant")

    @cached_property
    def may_look(self) -> bool:
        """Whether he may see other people's access here: who grants, who reviews, who reads the history."""
        return self.may_grant or self._has("view_history") or self._has("review_access")

    @cached_property
    def may_read_history(self) -> bool:
        return self.may_grant or self._has("view_history")

    def _has(self, duty: str) -> bool:
        return duties.has(self.asker, duty, self.node)


def visit(request: Request, id: int) -> Place:
    """The object of that number; the same Http404 when it is absent and when it is hidden (recorded)."""
    asker, now = asker_of(request), timezone.now()
    node = find_node(id)
    if node is None:
        raise Http404
    slice_ = slices.current(asker, node, now=now)
    if not decisions.may_see(slice_, node, now=now):
        access_log.refused(asker, decisions.operation_for(node, "read"), node, via=VIA)
        raise Http404
    return Place(asker, node, slice_, now)
