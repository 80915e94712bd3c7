"""Who asks about which object: the one door to every page about one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.http import Http404
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.kit.http import Request, asker_of
from catalog.nodes import Node
from catalog.past import last_node
from catalog.queries import first_root
from catalog.queries import node as find_node
from lakewarden.law.facts import Slice
from policies.authority import Actor
from policies.decisions import ask, duties, slices
from policies.record import access_log

VIA = "console"
ENTRIES = frozenset({"object", "browse", "role", "namespace", "herd", "instance"})
"""The pages that links to an object lead to."""


class SeeHistory(Http404):
    """What was requested is gone or hidden, and its history is not."""

    def __init__(self, id: int) -> None:
        super().__init__()
        self.id = id


@dataclass(frozen=True)
class ObjectAccess:
    """An object that the asker may see, with what they may do to it.

    Of one that is gone, or hidden from them, they may see `only_past`.
    """

    asker: Principal
    node: Node
    slice: Slice
    now: datetime
    only_past: bool = False

    @property
    def actor(self) -> Actor:
        return Actor(self.asker, VIA)

    def may(self, action: str) -> bool:
        return bool(ask.answer(self.slice, action, self.node, now=self.now))

    @cached_property
    def may_grant(self) -> bool:
        return self.may("grant")

    @cached_property
    def may_look(self) -> bool:
        """Whether they may see other people's access here: who grants, who reviews, who reads the history."""
        return self.may_grant or self._has("view_history") or self._has("review_access")

    @cached_property
    def may_read_history(self) -> bool:
        return self.may_grant or self._has("view_history")

    def _has(self, duty: str) -> bool:
        return duties.has(self.asker, duty, self.node)


def get_object_or_404(request: Request, id: int) -> ObjectAccess:
    """The object of that number; the same Http404 when it is absent and when it is hidden (recorded).

    Where a link leads to a gone or hidden object, a reader of its history is led on there: SeeHistory.
    """
    place = _place(request, id)
    if not place.only_past:
        return place
    match = request.resolver_match
    if place.may_read_history and match is not None and match.url_name in ENTRIES:
        raise SeeHistory(id)
    _refuse(place)
    raise Http404


def get_past_object_or_404(request: Request, id: int) -> ObjectAccess:
    """The same for its history: also a gone or hidden object, for readers of its history."""
    place = _place(request, id)
    if place.only_past and not place.may_read_history:
        _refuse(place)
        raise Http404
    return place


def _place(request: Request, id: int) -> ObjectAccess:
    asker, now = asker_of(request), timezone.now()
    node = find_node(id)
    place_node = node or last_node(id)
    if place_node is None:
        _refuse_absent(asker, id, now)
        raise Http404
    slice_ = slices.current(asker, place_node, now=now)
    seen = node is not None and ask.may_see(slice_, node, now=now)
    return ObjectAccess(asker, place_node, slice_, now, only_past=not seen)


def _refuse(place: ObjectAccess) -> None:
    access_log.refused(place.asker, ask.operation_for(place.node, "read"), place.node, via=VIA)


def _refuse_absent(asker: Principal, id: int, now: datetime) -> None:
    """What a hidden object takes, to see and to record, is done for one that is absent too.

    Else the time to the same answer would tell which numbers are objects.
    """
    if (some_root := first_root()) is None:
        return
    ObjectAccess(asker, some_root, slices.current(asker, some_root, now=now), now)._has("view_history")
    access_log.refused(asker, "look", None, name=f"object {id}", via=access_log.BY_NUMBER)
