"""The top of an object's page: lineage, name, facts line, tabs, and what the viewer may do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.history import timeline
from authzsite.console.history.timeline import TimelineRow
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import (
    Action,
    Fact,
    Facts,
    Lineage,
    Note,
    Reason,
    Station,
    StrOrPromise,
    Tab,
    Tabs,
)
from authzsite.console.kit.navigation import grouped
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.objects.access_table import AccessTable, AccessTableFilter
from authzsite.console.requests.links import ask_for
from authzsite.console.settings.modes import banner
from authzsite.console.sync.backend_state import BackendState, Foreign, behind, foreign_on, whose
from catalog import queries as catalog
from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER
from policies.analytics.uses import last_use
from policies.decisions.lookups.access import Path
from policies.decisions.lookups.visible_objects import count_admitted, owners_along
from policies.emergency import access as emergency_access
from policies.record import history

TABS = (
    (
        gettext_lazy("Access"),
        (
            ("object", gettext_lazy("Who has access")),
            ("object_rules", gettext_lazy("Rules")),
            ("object_duties", gettext_lazy("Duties")),
        ),
    ),
    (gettext_lazy("Requests"), (("object_requests", gettext_lazy("Requests")),)),
    (
        gettext_lazy("History"),
        (("object_history", gettext_lazy("Changes")), ("object_then", gettext_lazy("Past"))),
    ),
    (gettext_lazy("Sync"), (("object_sync", gettext_lazy("Sync")),)),
    (gettext_lazy("Columns"), (("object_columns", gettext_lazy("Columns")),)),
)
"""Each with the pages inside it; the first is where it leads."""
USED = {
    "read": gettext_lazy("read by %(label)s"),
    "write": gettext_lazy("written by %(label)s"),
    "use": gettext_lazy("used by %(label)s"),
    "execute": gettext_lazy("executed by %(label)s"),
    "": gettext_lazy("%(action)s by %(label)s"),
}
"""The last use, by its action; without one, of any other."""


@dataclass
class _Gifts:
    """To whom one level gives something, as owners or by which rules, and whether only to them directly."""

    owners: set[int] = field(default_factory=set)
    holders: set[int] = field(default_factory=set)
    facts: set[object] = field(default_factory=set)
    direct: bool = True

    def take(self, holder: int, path: Path) -> None:
        if path.owner:
            self.owners.add(holder)
            return
        self.holders.add(holder)
        self.facts.add(path.rule.fact)
        self.direct = self.direct and path.direct


@dataclass
class ObjectHeader:
    """Everything above the tab; each part is read once, with a constant number of queries."""

    place: ObjectAccess
    tab: str
    asked: AccessTableFilter = field(default_factory=AccessTableFilter)

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def root(self) -> Node:
        return next(iter(self.node.above()), self.node)

    @cached_property
    def there(self) -> BackendState | None:
        return behind(self.node, whose(self.place))

    @cached_property
    def foreign(self) -> tuple[Foreign, ...]:
        return foreign_on(self.node, self.there) if self.place.may_look else ()

    @cached_property
    def who_has(self) -> AccessTable:
        return AccessTable(self.place, self.asked, self.foreign)

    @cached_property
    def owners(self) -> dict[int, Principal]:
        return owners_along(self.node)

    @cached_property
    def detail(self) -> Detail | None:
        return Detail.objects.filter(securable=self.node.id).first()

    @cached_property
    def latest(self) -> list[TimelineRow]:
        return timeline.latest(self.node, history.sight(self.place.asker, [self.root]))

    @cached_property
    def mode(self) -> str:
        return catalog.mode_of(self.node.realm_id)

    def context(self) -> dict[str, Any]:
        return {
            "lineage": self.lineage(),
            "heading": self.node.name,
            "kind": terms.kind_of(self.node.type),
            "lead": self.detail.comment if self.detail else "",
            "actions": self.actions(),
            "grant_reason": None if self.place.may_grant or not given_on(self.node) else self.grant_reason(),
            "owner_reason": self.owner_reason(),
            "facts": self.facts(),
            "tabs": self.tabs(),
            "there": self.there,
            "state_url": self._state_url() if self.there else "",
        }

    def _state_url(self) -> str:
        url = reverse("console:object_state", args=[self.node.id])
        return f"{url}?words" if self.tab == "object" else url

    # What the viewer may do

    def actions(self) -> list[Action]:
        query = {
            "who": str(self.place.asker),
            "action": self.who_has.main,
            "what": self.node.ref.id,
            "type": self.node.type,
        }
        why = Action(_("Ask why"), f"{reverse('console:why')}?{urlencode(query)}", "plain", "why")
        grant = reverse("console:grant", args=[self.node.id])
        reason = "" if self.place.may_grant else "why-not-grant"
        if not given_on(self.node):
            return [why]
        give = Action(_("Grant access"), grant, "primary", reason=reason, opens="layer", key="a")
        if reason:
            give = Action(_("Grant access"), look="", reason=reason)
        asking = [Action(_("Request access"), ask_for([self.node]), "primary")] if reason else []
        if reason and emergency_access.may(self.place.asker, self.node):
            opening = f"{reverse('console:emergencies')}?{urlencode({'what': self.node.ref.id})}"
            asking.append(Action(_("Open in an emergency"), opening))
        actions = [
            why,
            Action(
                _("Set owner"), reverse("console:object_owner", args=[self.node.id]), reason=self._no_owner()
            ),
            give,
            *asking,
        ]
        if self.node.type in terms.CONTAINERS:
            browse = Action(_("Browse"), reverse("console:browse", args=[self.node.id]), "", "schema")
            actions.insert(1, browse)
        return actions

    def _no_owner(self) -> str:
        """Which reason stands beside the disabled button; none when it is not."""
        if self.place.may("set_owner"):
            return ""
        return "why-not-owner" if self.place.may_grant else "why-not-grant"

    def owner_reason(self) -> Reason | None:
        if self._no_owner() != "why-not-owner" or not given_on(self.node):
            return None
        return Reason(
            "why-not-owner",
            _("The owner of %(name)s is set by %(owner_words)s.")
            % {"name": self.node.name, "owner_words": self.owner_words()},
        )

    def grant_reason(self) -> Reason:
        query = {
            "who": str(self.place.asker),
            "action": "grant",
            "what": self.node.ref.id,
            "type": self.node.type,
        }
        url = f"{reverse('console:why')}?{urlencode(query)}"
        return Reason(
            "why-not-grant",
            _("Access to %(name)s is granted by %(owner_words)s.")
            % {"name": self.node.name, "owner_words": self.owner_words()},
            url,
            _("See what you lack"),
        )

    def owner_words(self) -> str:
        key, owner = self.nearest_owner()
        if owner is None:
            return _("nobody: neither it nor its parents have an owner")
        what = (
            _("its owner")
            if key == self.node.id
            else _("the owner of %(node)s") % {"node": terms.level_words(self.node, key)}
        )
        return f"{what}, {terms.principal_name(owner)}"

    def nearest_owner(self) -> tuple[int | None, Principal | None]:
        for key in reversed(self.node.lineage):
            if key in self.owners:
                return key, self.owners[key]
        return None, None

    # Facts

    def facts(self) -> Facts:
        if self.place.may_look:
            about = self._others()
        else:
            mine = self.who_has.map.access_of(self.place.asker)
            about = [Fact(_("You can"), terms.can(mine.can, self.node.type, owns=mine.owns))]
        last = [Fact(_("Last change"), self.latest[0].when)] if self.latest else []
        return Facts((self._owner(), *about, *self._outside(), *last))

    def _owner(self) -> Fact:
        key, owner = self.nearest_owner()
        if owner is None:
            return Fact(_("Owner"), _("No owner"))
        note = "" if key == self.node.id else _("of %(node)s") % {"node": terms.level_words(self.node, key)}
        return Fact(_("Owner"), owner.label, note=note)

    def _others(self) -> Iterable[Fact]:
        if self.node.type == "metalake" and self.place.slice.mode == "on":
            # who belongs to it may use it, without any right of their own
            members = count_admitted([self.node.realm_id], self.place.now)[self.node.realm_id]
            yield Fact(_("Can use it"), words.able_words(*members), note=_("its members"), term="member")
        elif self.node.type in terms.CONTAINERS:
            yield Fact(_("Can use it"), words.able_words(*self.who_has.map.count("use")), term="can-count")
        else:
            yield Fact(_("Can read"), words.able_words(*self.who_has.map.count("read")), term="can-count")
            yield Fact(_("Can write"), words.able_words(*self.who_has.map.count("write")), term="can-count")
            yield self._used()

    def _used(self) -> Fact:
        """When a job last told that it was used."""
        use = last_use(self.node)
        if use is None:
            return Fact(_("Last used"), _("No usage data"))
        return Fact(
            _("Last used"),
            words.ago(use.at),
            note=str(USED.get(use.action, USED[""])) % {"action": use.action, "label": use.principal.label},
        )

    def _outside(self) -> Iterable[Fact]:
        if self.there:
            yield Fact(_("In %(system)s") % {"system": self.there.system}, state=self.there.state())
        elif self.node.type == "catalog":
            yield Fact(_("Guarded"), _("By the console alone"), note=_("not connected to its system"))

    # Lineage

    def lineage(self) -> Lineage:
        levels = zip(self.node.levels, self.node.names, strict=True)
        return Lineage(tuple(self._station(depth, level, name) for depth, (level, name) in enumerate(levels)))

    def _station(self, depth: int, level: Any, name: str) -> Station:
        last = depth == len(self.node.levels) - 1
        url = "" if last else reverse("console:object", args=[level.key])
        gives = self._gives(depth, direct=last) if self.place.may_look else self._gives_me(level.key)
        return Station(name, terms.kind_of(level.type).lower(), url, gives or _("gives nothing"), bool(gives))

    def _gives(self, depth: int, *, direct: bool) -> str:
        gifts = self._gifts.get(depth, _Gifts())
        owners = self._people(gifts.owners)
        parts = []
        if gifts.holders:
            rules = words.count(len(gifts.facts), "rule")
            by = _("directly") if direct and gifts.direct else _("by %(rules)s") % {"rules": rules}
            parts.append(f"{words.count(self._people(gifts.holders), 'person', 'people')} {by}")
        if owners:
            parts.append(
                _("%(owners)s as owner") % {"owners": words.number(owners)}
                if parts
                else _("%(owners)s, as owner") % {"owners": words.count(owners, "person", "people")}
            )
        return ", ".join(parts)

    @cached_property
    def _gifts(self) -> dict[int, _Gifts]:
        """What is given, by the level on which it is."""
        gifts: dict[int, _Gifts] = defaultdict(_Gifts)
        for row in self.who_has.all:
            for path in row.paths:
                if not path.denies:
                    gifts[path.depth].take(row.principal.pk, path)
        return gifts

    def _people(self, holders: Iterable[int]) -> int:
        members = self.who_has.map.members
        return len({person for holder in holders for person in members.get(holder, (holder,))})

    def _gives_me(self, key: object) -> str:
        rules = [rule for rule in self.place.slice.rules if rule.object == key and rule.allow]
        if any(rule.privilege == OWNER for rule in rules):
            return "yours"
        labels = dict.fromkeys(terms.right(rule.privilege, self.node.type, self.node.kind) for rule in rules)
        return (
            _("gives you %(labels)s") % {"labels": terms.lower(terms.sentence_list(list(labels)))}
            if labels
            else ""
        )

    # Tabs

    def tabs(self) -> Tabs:
        return grouped(TABS, self.tab, self._tab, self._has)

    def _has(self, code: str) -> bool:
        if code == "object_columns":
            return self.node.type in ("table", "view")
        return code != "object_sync" or self.there is not None

    def _tab(self, code: str, label: StrOrPromise) -> Tab:
        count = ""
        if code == "object_columns" and self.detail:
            count = words.number(len(self.detail.columns))
        elif code == "object" and self.place.may_look:
            count = words.number(sum(self.who_has.map.count(self.who_has.main)))
        return Tab(label, reverse(f"console:{code}", args=[self.node.id]), code == self.tab, count)

    # The realm

    def banner(self) -> Note | None:
        return banner(self.node.realm, self.mode)


def given_on(node: Node) -> bool:
    """Whether the law knows rights that can be given on such an object."""
    return any(node.type in privilege.binds for privilege in dialects.get(node.kind).privileges.values())
