"""Acting with some of one's roles only: allows of the others are put aside, denials and ownership stay."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext

from catalog.models import Placement
from catalog.nodes import Node
from lakewarden.law import engine
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.errors import Invalid, Refused

ALL, NONE = "ALL", "NONE"


def narrowed(slice_: Slice, wish: str, root: Node) -> Slice:
    """The slice with the roles of a wish `a,b`, ALL or NONE.  Raises Invalid, Refused for one not held."""
    names = [name.strip() for name in wish.split(",")]
    if not all(names) or (len(names) > 1 and {ALL, NONE} & {name.upper() for name in names}):
        raise Invalid(gettext("Active roles are a list of names, or ALL, or NONE."))
    if names[0].upper() == ALL:
        return slice_
    active = frozenset() if names[0].upper() == NONE else frozenset(names)
    held = _held(slice_, root) if active else frozenset()
    if active - held:
        raise Refused(gettext("Role %(role)s is not held.") % {"role": min(active - held)})
    kept = tuple(rule for rule in slice_.rules if _stays(rule, active))
    return engine.with_rules(slice_, kept, now=slice_.since)


def _stays(rule: Rule, active: Collection[str]) -> bool:
    return (
        not rule.allow
        or rule.privilege == OWNER
        or any(station.kind == "role" and station.name in active for station in rule.via)
    )


def _held(slice_: Slice, root: Node) -> frozenset[str]:
    roles = [key for key in slice_.selves if isinstance(key, int)]
    rows = Placement.objects.open().filter(securable__in=roles, scope=root.id, type="role")
    return frozenset(rows.values_list("name", flat=True))
