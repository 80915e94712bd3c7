"""Who owns what."""

from __future__ import annotations

from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor, Authority, origin_of
from policies.changes import change
from policies.errors import Invalid
from policies.events import OWNER_ENDED, OWNER_SET
from policies.models import Ownership
from policies.saying import said
from policies.services import personal, realm_of
from policies.services.roles import must_be_member


def set_owner(node: Node, owner: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Make a member of the realm the owner; False when he was it.  Raises Invalid."""
    if node.type == "role" and personal.is_personal(node.name):
        raise Invalid("A personal role belongs to nobody.")
    with change(OWNER_SET, realm=realm_of(node), by=by, reason=reason) as current:
        must_be_member(node, owner)
        before = Ownership.objects.open().filter(securable=node.id).select_related("owner").first()
        if before and before.owner_id == owner.pk:
            return False
        if before:
            current.end(before, said(OWNER_ENDED, node, before.owner), by=authority)
        row = Ownership(securable_id=node.id, owner=owner, origin=origin_of(by))
        current.begin(row, said(OWNER_SET, node, owner), by=authority)
    return True
