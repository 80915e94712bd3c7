"""A hint as a line: what it is about, its ground, revision and age, and what the viewer can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Face, Reason, Who
from catalog.nodes import Node
from lakewarden.law.facts import Slice
from policies.analytics import hint_words
from policies.analytics.hint_kinds import LEAVE, MERGE, NARROW, OWN, REMOVE
from policies.analytics.hints import COUNTED, HintView
from policies.decisions import ask, slices
from policies.decisions.personal_role_names import is_personal

REASON = "why-not-mend"
BUTTONS = {
    REMOVE: gettext_lazy("Revoke it"),
    OWN: gettext_lazy("Set an owner"),
    LEAVE: gettext_lazy("Revoke the access"),
    MERGE: gettext_lazy("Compare the two"),
    NARROW: gettext_lazy("Reduce access"),
}


@dataclass(frozen=True)
class HintRow:
    """One hint; a dismissed one says by whom, when and why."""

    id: int
    what: Who
    about: str
    label: str
    ground: str
    found: str
    mend: Action
    leave: Action
    dismissed: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Drawing:
    """One viewer: what they may change decides which buttons are theirs.  One slice a realm.

    `back` is the page that they come back to when a hint is mended or dismissed; empty for the list of hints.
    """

    asker: Principal
    slices: dict[int, Slice]
    back: str = ""

    @classmethod
    def by(cls, asker: Principal, realms: Sequence[Node], back: str = "") -> Drawing:
        return cls(asker, {realm.realm_id: slices.current(asker, realm) for realm in realms}, back)

    def line(self, told: HintView) -> HintRow:
        about = about_words(told)
        slice_ = self.slices.get(told.node.realm_id)
        may = slice_ is not None and bool(ask.answer(slice_, "grant", told.node, now=timezone.now()))
        row = told.row
        url = self._with_back(reverse("console:hint_dismiss", args=[row.pk]))
        return HintRow(
            row.pk,
            what(told),
            about,
            _(told.label),
            ground(told),
            found_words(told),
            self._mend(told, about) if may else Action(_button(told), "", "mini", more=about, reason=REASON),
            Action(
                _("Dismiss"),
                "" if not may else url,
                "mini plain",
                more=f"{_(told.label)}: {about}",
                reason="" if may else REASON,
            ),
            _dismissed(told),
            row.reason,
        )

    def _mend(self, hint: HintView, about: str) -> Action:
        url = mend_url(hint)
        if hint.kind.deed == REMOVE:
            url = self._with_back(url)
        return Action(_button(hint), url, "mini", more=about)

    def _with_back(self, url: str) -> str:
        return f"{url}?{urlencode({'back': self.back})}" if self.back else url


def reasons(lines: Sequence[HintRow]) -> list[Reason]:
    """Why some buttons are locked, each reason once."""
    locked = any(line.mend.reason for line in lines)
    text = _("Only people who may grant access to its object can act on a hint or dismiss it.")
    return [Reason(REASON, text)] if locked else []


def ground(told: HintView) -> str:
    """Why, in a sentence."""
    return _filled(told.kind.ground, told)


def mends(told: HintView) -> str:
    """The change that mends it, in words."""
    return _filled(told.kind.mends, told)


def _filled(text: str, hint: HintView) -> str:
    values = {name: _worded(name, value) for name, value in hint.values.items()}
    values["privilege"] = _(values["privilege"])
    return _(text).format(**values)


def _worded(name: str, value: Any) -> Any:
    if name in COUNTED and isinstance(value, int):
        return words.count(value, *COUNTED[name])
    return hint_words.in_readers_language(name, value) if isinstance(value, str | dict | list) else value


def what(told: HintView) -> Who:
    """The thing or the person that it is about, with its page."""
    row, node = told.row, told.node
    if row.kind.startswith("dormant") and row.holder is not None:
        url = reverse("console:person", args=[row.holder.pk])
        return terms.who(row.holder, str(row.holder), url)
    if row.securable_id is None and told.role is not None:
        node = told.role
    icon = "role" if node.type == "role" else terms.icon_of(node.type)
    name = row.pattern or node.name
    return Who(name, Face("thing", icon), terms.place_words(node), terms.page_of(node.id, node.type))


def about_words(told: HintView) -> str:
    """Read, by role sales_read; Read, direct for Mia Meyer; with role browse."""
    row = told.row
    right = terms.right(row.privilege, told.node.type, told.node.kind) if row.privilege else ""
    if told.other is not None:
        return _("with role %(name)s") % {"name": told.other.name}
    if told.role is not None and not is_personal(told.role.name):
        return (
            _("%(right)s, by role %(name)s") % {"right": right, "name": told.role.name}
            if right
            else _("Role %(name)s") % {"name": told.role.name}
        )
    if right and row.holder is not None:
        return _("%(right)s, direct for %(holder)s") % {
            "right": right,
            "holder": terms.principal_name(row.holder),
        }
    return right


def found_words(told: HintView) -> str:
    """At revision 1,284, 3 h ago; first on Fri 27 Nov."""
    row = told.row
    values = {"revision": words.number(row.revision), "seen": words.ago(row.seen)}
    if row.found == row.seen:
        return _("Revision %(revision)s, %(seen)s") % values
    first = words.moment(row.found, within=True)
    return _("Revision %(revision)s, %(seen)s; first %(first)s") % {**values, "first": first}


def _dismissed(hint: HintView) -> str:
    row = hint.row
    if row.dismissed is None:
        return ""
    by = row.dismissed_by.label if row.dismissed_by else pgettext("by whom", "an erased person")
    return _("Dismissed by %(by)s, %(dismissed)s") % {
        "by": by,
        "dismissed": words.moment(row.dismissed, within=True),
    }


def _button(hint: HintView) -> str:
    return str(BUTTONS[hint.kind.deed])


def mend_url(told: HintView) -> str:
    """The page of the change that mends it, which shows what it does before it does it."""
    row, node, deed = told.row, told.node, told.kind.deed
    if deed == OWN:
        return reverse("console:object_owner", args=[node.id])
    if deed == LEAVE and row.holder is not None:
        return reverse("console:person_leaving", args=[row.holder.pk])
    if deed == MERGE and told.role is not None and told.other is not None:
        return f"{reverse('console:role_compare')}?{urlencode({'a': told.role.name, 'b': told.other.name})}"
    if deed == NARROW:
        return _narrow_url(told)
    return reverse("console:hint_mend", args=[row.pk])


def _narrow_url(hint: HintView) -> str:
    row, node = hint.row, hint.node
    if hint.role is not None and not is_personal(hint.role.name):
        return reverse("console:role_give_on", args=[hint.role.id, node.id])
    query = {"may": row.privilege, **({"who": str(row.holder)} if row.holder else {})}
    return f"{reverse('console:revoke', args=[node.id])}?{urlencode(query)}"
