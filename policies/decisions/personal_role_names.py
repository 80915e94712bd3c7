"""How personal roles are called, and which of them there are by that name."""

from __future__ import annotations

from collections.abc import Collection

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node
from policies.events import EventDraft
from policies.models import Assignment, Event

MARK = "~"


def name_for(principal: Principal) -> str:
    """`~alice` for a user; other kinds carry their kind, as names are unique only within it."""
    return MARK + (principal.name if principal.kind == Principal.Kind.USER else str(principal))


def is_personal(role_name: str) -> bool:
    return role_name.startswith(MARK)


def tells_of_personal_role(event: Event | EventDraft) -> bool:
    """Whether an event is about a personal role itself, which comes and goes with what is given by it."""
    return event.object_type == "role" and is_personal(str(event.data.get("role", "")))


def find_all(node: Node, principals: Collection[Principal]) -> dict[int, int]:
    """The personal roles of those who have one in the node's realm, by principal.  One query."""
    named = {name_for(principal): principal.pk for principal in principals}
    rows = Placement.objects.open().filter(scope=node.root_id, type="role", name__in=named)
    return {named[name]: role for name, role in rows.values_list("name", "securable")}


def pseudonymous(principal: Principal) -> str:
    """How the record names a personal role, so that it holds no name of a person."""
    return MARK + principal.pseudonym


def role_name(role: int) -> str:
    """A role's name in the record's words."""
    held = Assignment.objects.filter(role=role).select_related("holder").first()
    place = Placement.objects.filter(securable=role).order_by("-opened").first()
    if place is None:
        return ""
    return pseudonymous(held.holder) if is_personal(place.name) and held else place.name
