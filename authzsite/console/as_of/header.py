"""The top of the pages about what is gone, or hidden from who may read its history: its name and its past."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Facts, Lineage, Note, Station, StrOrPromise, Tab, Tabs
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.objects.header import ObjectHeader
from catalog.models import Placement
from policies.models import Change

HIDDEN = gettext_lazy("You may read its history, but not its contents.")


class PastHead(ObjectHeader):
    """Names without links, and the two tabs that tell of the past."""

    def context(self) -> dict[str, Any]:
        node = self.node
        if self.ended is None:
            end = []
        else:
            url = f"{reverse('console:history')}?revision={self.ended.revision}"
            end = [Action(_("See its history"), url, "")]
        return {
            "lineage": self.lineage(),
            "heading": node.name,
            "kind": terms.kind_of(node.type),
            "lead": self._lead(),
            "actions": end,
            "facts": Facts(()),
            "tabs": self.tabs(),
            "there": None,
        }

    @cached_property
    def ended(self) -> Change | None:
        """The change with which it went, alone or with what was above it; None while it is there."""
        place = Placement.objects.filter(securable=self.node.id).order_by("-opened").first()
        return Change.objects.filter(revision=place.closed).first() if place and place.closed else None

    def _lead(self) -> str:
        if self.ended is None:
            return str(HIDDEN)
        when = words.moment(self.ended.at, within=True)
        return _("Gone since %(when)s, revision %(revision)s. Its history stays.") % {
            "when": when,
            "revision": words.number(self.ended.revision),
        }

    def lineage(self) -> Lineage:
        levels = zip(self.node.levels, self.node.names, strict=True)
        return Lineage(tuple(Station(name, terms.kind_of(level.type).lower()) for level, name in levels))

    def tabs(self) -> Tabs:
        past = "role_then" if self.node.type == "role" else "object_then"
        return Tabs(tuple(self._tab(*item) for item in (("object_history", _("History")), (past, _("Past")))))

    def _tab(self, code: str, label: StrOrPromise) -> Tab:
        return Tab(label, reverse(f"console:{code}", args=[self.node.id]), code == self.tab)

    def banner(self) -> Note | None:
        return None


def head_of(place: ObjectAccess, tab: str) -> ObjectHeader:
    """The top of a page about an object's history."""
    return PastHead(place, tab) if place.only_past else ObjectHeader(place, tab)
