"""What a person finds on Home, as facts: each read once, in a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.people.reach import begins_after
from authzsite.console.sync.views import visible_backends
from catalog.models import Placement
from catalog.nodes import Node, Numbers, any_of
from catalog.queries import nodes
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import slices
from policies.decisions.lookups.visible_objects import foreign_on, owned_by, realms_of
from policies.lifecycle import expirations
from policies.lifecycle.expirations import Ending
from policies.models import BackendFinding
from policies.record import history

SOON = timedelta(days=14)
SHOWN = 10
ASIDE = ("role", "tag", "policy", "job_template", "job")
"""What is owned beside data; it has no page of its own yet."""


@dataclass
class HomeSummary:
    """What a person finds on Home.  The number of queries does not depend on how much that is."""

    asker: Principal

    @cached_property
    def now(self) -> datetime:
        return timezone.now()

    @cached_property
    def realms(self) -> list[Node]:
        return realms_of(self.asker)

    @cached_property
    def slices(self) -> list[Slice]:
        return [slices.current(self.asker, realm, now=self.now) for realm in self.realms]

    @cached_property
    def owned(self) -> Numbers:
        return Numbers.joined(owned_by(self.asker, realm) for realm in self.realms)

    @cached_property
    def endings(self) -> list[Ending]:
        """What ends soon on what the viewer owns, the soonest first."""
        return expirations.on(self.owned, self.now, self.now + SOON) if self.owned else []

    @cached_property
    def foreign(self) -> list[BackendFinding]:
        return list(foreign_on(self.owned).select_related("backend")) if self.owned else []

    @cached_property
    def backends(self) -> list[Any]:
        return visible_backends(self.asker, self.realms).lines

    @cached_property
    def sight(self) -> history.Sight:
        return history.sight(self.asker, self.realms)

    @cached_property
    def reached(self) -> list[Rule]:
        """What rules say of the person alone or through groups, ownership apart."""
        now = self.now.timestamp()
        return [rule for rule in self._rules if rule.holds_at(now)]

    @cached_property
    def coming(self) -> list[Rule]:
        """Those among them that have not begun."""
        now = self.now.timestamp()
        return [rule for rule in self._rules if begins_after(rule, now)]

    @cached_property
    def _rules(self) -> list[Rule]:
        return [rule for slice_ in self.slices for rule in slice_.rules if rule.privilege != OWNER]

    @cached_property
    def places(self) -> dict[int, Node]:
        """Every object that this page names, at once."""
        foreign = [row.securable_id for row in self.foreign]
        reached = [rule.object for rule in (*self.reached, *self.coming)]
        keys = {key for key in (*self.first_owned, *foreign, *reached) if isinstance(key, int)}
        return nodes(keys)

    @cached_property
    def first_owned(self) -> list[int]:
        """The highest of what the viewer owns, by name; what lies deeper has a list of its own."""
        if not self.owned:
            return []
        rows = Placement.objects.open().filter(any_of("securable_id", self.owned)).exclude(type__in=ASIDE)
        rows = rows.order_by("ancestors__len", "name", "pk")
        return list(rows.values_list("securable", flat=True)[:SHOWN])

    @cached_property
    def groups(self) -> dict[Any, str]:
        """What the groups on the way are called."""
        via = (item for rule in self.reached for item in rule.via if item.kind == "group")
        keys = {item.key for item in via if isinstance(item.key, int)}
        return {row.pk: row.label for row in Principal.objects.filter(pk__in=keys)} if keys else {}

    @cached_property
    def inside(self) -> dict[int, int]:
        """How many objects lie directly in each that one owns."""
        rows = Placement.objects.open().filter(parent__in=self.first_owned).values_list("parent")
        return dict(rows.annotate(Count("pk")))
