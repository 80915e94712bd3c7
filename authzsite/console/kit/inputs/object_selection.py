"""The objects ticked in a list: which of them the viewer may see, and which are left out, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Note, Reason
from authzsite.console.kit.http import numbers_in
from authzsite.console.objects.access import ObjectAccess
from catalog.nodes import Node, nodes
from policies.decisions import ask, slices

MOST = 50
"""More objects than this are not changed at once."""


NO_TICK = "why-no-tick"


class Tickable(Protocol):
    """A row of a list that can be chosen where the viewer may give access to what it stands for."""

    @property
    def may_grant(self) -> bool: ...


def ticking(rows: Sequence[Tickable], name: str = "rows") -> dict[str, Any]:
    """Rows for a list with boxes: whether one of them is the viewer's to give, and why others are not."""
    able = [row.may_grant for row in rows]
    locked = Reason(NO_TICK, _("You can change access only on objects you own."))
    return {
        name: rows,
        "ticks": bool(rows),
        "gives": any(able),
        "locked": locked if rows and not all(able) else None,
    }


@dataclass(frozen=True)
class Chosen:
    """The objects ticked that the viewer may see, and those of them whose access they may change."""

    asker: Principal
    data: QueryDict

    @cached_property
    def seen(self) -> list[ObjectAccess]:
        """All in the realm of the first that they may see; who may not see one reads as if it were absent."""
        now, numbers = timezone.now(), numbers_in(self.data.getlist("on"))
        nodes_ = nodes(numbers)
        chosen = [nodes_[key] for key in numbers if key in nodes_]
        for realm in dict.fromkeys(node.realm_id for node in chosen):
            seen = self._seen_of([node for node in chosen if node.realm_id == realm], now)
            if seen:
                return seen
        return []

    def _seen_of(self, some: Sequence[Node], now: datetime) -> list[ObjectAccess]:
        """Those objects of one realm that the viewer may see."""
        slice_ = slices.current(self.asker, some[0], now=now)
        places = [ObjectAccess(self.asker, node, slice_, now) for node in some]
        return [place for place in places if ask.may_see(slice_, place.node, now=now)]

    @cached_property
    def mine(self) -> list[ObjectAccess]:
        return [item for item in self.seen if item.may_grant][:MOST]

    def notes(self) -> list[Note]:
        """What is left out, and why."""
        notes = []
        locked = [item.node.name for item in self.seen if not item.may_grant]
        if locked:
            strong = _("%(locked)s of %(seen)s left out.") % {
                "locked": words.number(len(locked)),
                "seen": words.number(len(self.seen)),
            }
            text = _("%(locked)s: their owners change access to them.") % {"locked": words.listed(locked, 5)}
            notes.append(Note("warn", strong, text))
        if len(self.seen) - len(locked) > MOST:
            notes.append(
                Note(
                    "warn",
                    _("At most %(most)s at once.") % {"most": MOST},
                    _("Only the first objects of your selection are listed."),
                )
            )
        return notes


def on_context(chosen: Chosen, picked: Sequence[ObjectAccess]) -> dict[str, Any]:
    """The objects as boxes that can be unticked, and the way back above them."""
    ids = {item.node.id for item in picked}
    on = [
        {
            "id": item.node.id,
            "name": item.node.name,
            "place": terms.place_words(item.node),
            "checked": item.node.id in ids,
        }
        for item in chosen.mine
    ]
    names = words.listed([item.node.name for item in picked], 4)
    above = tuple((item.name, terms.page_of(item.id, item.type)) for item in picked[0].node.above())
    many = words.count(len(picked), "object")
    return {"on": on, "on_words": f"{many}: {names}", "crumbs": Crumbs(above)}
