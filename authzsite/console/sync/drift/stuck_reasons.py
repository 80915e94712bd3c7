"""Why a backend refused one item, in plain words; its own words are for who runs its sync."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from policies.models import Backend
from policies.models.sync import Tried

_ACT_AS = re.compile(r'permission denied to set role "(?P<who>[^"]*)"')
_PASSED_ON = re.compile(r"dependent privileges exist")
_GONE = re.compile(r"is no role there any more")
_KINDS = {
    "rejected": gettext_lazy("A rule of {system} forbids it."),
    "misconfigured": gettext_lazy("Lakewarden's account in {system} lacks a right that this needs."),
    "gone": gettext_lazy("Its object is gone."),
    "transient": gettext_lazy("{system} was busy or could not be reached."),
}
_NEXT = {
    "transient": gettext_lazy("It is tried again by itself, each time later."),
    "gone": gettext_lazy("The object or the account is gone; the backend is read again by itself."),
    "rejected": gettext_lazy("Change what was decided or what prevents it, then try again."),
    "misconfigured": gettext_lazy("Fix the connection or the rights of its account, then try again."),
}
"""What to do next, by the kind of error."""


def what_next(kind: str, otherwise: str = "") -> str:
    """What to do about an error of that kind."""
    return str(_NEXT.get(kind, otherwise))


def cause(row: Tried, backend: Backend, *, whole: bool) -> str:
    """Why it was refused.  `whole`: with the words of the backend, which name people and logins."""
    system = backend.get_kind_display()
    plain = _plainly(row, system)
    if not whole or not row.error:
        return plain
    answer = _("%(system)s answered: %(error)s") % {"system": system, "error": row.error[:300]}
    return f"{plain} {answer}"


def _plainly(row: Tried, system: str) -> str:
    if match := _ACT_AS.search(row.error):
        return _("Lakewarden's account in %(system)s may not act as %(found)s, which this needs.") % {
            "system": system,
            "found": match["who"],
        }
    if _PASSED_ON.search(row.error):
        return _("It was passed on to others there. Their grants have to go first.")
    if _GONE.search(row.error):
        return _("Its grantor is gone.")
    return str(_KINDS.get(row.error_kind, _("{system} refused it."))).format(system=system)
