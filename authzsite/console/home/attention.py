"""What waits for somebody that no other page lists: ends, strangers, orphans, backends that lag."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.home.entitlements import extend, holder_of, right_words
from authzsite.console.home.summary import HomeSummary
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action, Face
from authzsite.console.sync.backend_state import LEFT, RESTORED, STUCK
from catalog.nodes import Node
from policies.decisions import ownership
from policies.decisions.facts import is_service_admin
from policies.decisions.ownership import GONE, OwnershipFilter
from policies.models import Backend, BackendFinding
from policies.record import verifications

LATE = {
    Backend.State.FAILED: gettext_lazy("cannot be reached"),
    Backend.State.SILENT: gettext_lazy("does not answer"),
    RESTORED: gettext_lazy("changes nothing until its plan is reviewed"),
    STUCK: gettext_lazy("refuses changes and needs attention"),
    Backend.State.HELD: gettext_lazy("holds a plan with many removals until it is reviewed"),
    Backend.State.PAUSED: gettext_lazy("is paused"),
}
"""By the code of a backend's state."""


@dataclass(frozen=True)
class Attention:
    """One line for each thing: what is wrong with the record first, then what nobody answers for."""

    desk: HomeSummary

    def items(self) -> list[Item]:
        return [*self._record(), *self._ownerless(), *self._ends_now(), *self._strangers(), *self._late()]

    def _record(self) -> Iterable[Item]:
        """What was found wrong with the record, for site admins."""
        trouble = verifications.trouble() if is_service_admin(self.desk.asker) else None
        if trouble is not None:
            text = verifications.in_words(trouble.broken, trouble.differences)
            look = Action(_("Check"), reverse("console:integrity"), "mini", more=_("the audit log"))
            note = _("Until the cause is known, do not rely on what this site says about access")
            yield Item(Face("thing", "warn"), _("The audit log:"), text, note, look)

    def _ownerless(self) -> Iterable[Item]:
        """What lies in the viewer's objects and belongs to somebody who cannot sign in any more."""
        for realm in self.desk.realms:
            many = (
                ownership.places(OwnershipFilter(realm, how=GONE), self.desk.owned).count()
                if self.desk.owned
                else 0
            )
            if many:
                url = f"{reverse('console:owners')}?{urlencode({'how': GONE, 'in': realm.id})}"
                look = Action(
                    _("Hand over"), url, "mini", more=_("objects in %(name)s") % {"name": realm.name}
                )
                text = ngettext(
                    "the owner of %(many)s object cannot sign in",
                    "the owners of %(many)s objects cannot sign in",
                    many,
                ) % {"many": words.number(many)}
                note = _("Nobody can grant access there until another owner is named")
                yield Item(Face("thing", "key"), f"{realm.name}:", text, note, look)

    def _ends_now(self) -> Iterable[Item]:
        """What ends first; not what only leads to something."""
        telling = [ending for ending in self.desk.endings if not ending.code.startswith("USE_")]
        for item in telling[:3]:
            node, right = item.node, terms.lower(right_words(item))
            note = _("Ends by itself %(until)s") % {"until": words.on(item.until)}
            if not words.is_today(item.until):
                note = f"{note}, {words.ends_in(item.until)}"
            yield Item(
                holder_of(item).face,
                holder_of(item).name,
                # not what they lose: they may have the same by another path
                _("has a grant that ends: %(right)s on") % {"right": right}
                if item.code
                else _("holds a role that ends:"),
                note,
                extend(item),
                terms.short_name(node),
                terms.page_of(node.id, node.type),
            )

    def _strangers(self) -> Iterable[Item]:
        by_place = dict[Node, list[BackendFinding]]()
        for row in self.desk.foreign:
            node = self.desk.places.get(row.securable_id or 0)
            if node is not None:
                by_place.setdefault(_nearest(node, self.desk.owned), []).append(row)
        for node, rows in sorted(by_place.items(), key=lambda pair: -len(pair[1]))[:3]:
            system = rows[0].backend.get_kind_display()
            grants = words.count(len(rows), "grant")
            first = words.moment(min(row.first_seen for row in rows), within=True)
            note = _("First seen %(first)s · left as they are until you decide") % {"first": first}
            look = Action(
                _("Open"),
                reverse("console:object_sync", args=[node.id]),
                "mini",
                more=_("grants made outside Lakewarden on %(name)s") % {"name": node.name},
            )
            yield Item(
                Face("thing", "alien"),
                "",
                _("%(system)s has %(grants)s made outside Lakewarden on")
                % {"system": system, "grants": grants},
                note,
                look,
                terms.short_name(node),
                terms.page_of(node.id, node.type),
            )

    def _late(self) -> Iterable[Item]:
        for line in self.desk.backends if self.desk.owned else []:
            if line.state.kind in ("failed", "behind", "paused") and line.code != LEFT:
                look = Action(_("Open"), line.url, "mini", more=line.name)
                text = str(LATE.get(line.code, _("has not caught up")))
                note = f"{line.state.note} · {line.checked}" if line.state.note else line.checked
                yield Item(Face("thing", "behind"), line.name, text, note, look)


def _nearest(node: Node, owned: Collection[int]) -> Node:
    """The nearest of an object and those above it that is owned; itself when none is."""
    return next((item for item in (node, *reversed([*node.above()])) if item.id in owned), node)
