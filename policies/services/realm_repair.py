"""What a site admin may do in a realm that does not admit them: give it an owner who can sign in."""

from __future__ import annotations

from django.utils.translation import gettext

from accounts.entering import able
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor, Authority
from policies.decisions import site_permissions
from policies.errors import Conflict, Invalid
from policies.events import REALM_REPAIRED
from policies.models import Ownership, RealmMember
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import members, owners, realm_of

SHORTEST = 10  # characters of a reason


def set_owner_of_realm(
    root: Node, owner: Principal, *, by: Actor, reason: str, authority: Authority | None = None
) -> None:
    """Make somebody who can come in the owner, admitted if need be, of a realm whose owner cannot.

    Without an authority it takes a site admin.
    Raises Refused, Invalid, and Conflict when the owner can come in after all.
    """
    if len(reason.strip()) < SHORTEST:
        raise Invalid(
            gettext("A repair needs a reason of at least %(least)s characters.") % {"least": SHORTEST}
        )
    with change(REALM_REPAIRED, realm=realm_of(root), by=by, reason=reason) as current:
        authority = authority or site_permissions.of_admin(by)
        before = Ownership.objects.open().filter(securable=root.id).select_related("owner").first()
        if before is not None and before.owner_id in able([before.owner_id]):
            raise Conflict(
                gettext("%(owner)s, who owns %(realm)s, can sign in, and can hand it over.")
                % {"owner": before.owner.label, "realm": root.name}
            )
        if owner.pk not in able([owner.pk]):
            raise Invalid(gettext("%(owner)s cannot sign in either.") % {"owner": owner.label})
        people = [before.owner, owner] if before else [owner]
        current.say(make_event(REALM_REPAIRED, root, *people), by=authority)
        if not RealmMember.objects.open().filter(realm=root.realm_id, principal=owner).exists():
            members.add(root, owner, by=by, authority=authority)
        owners.set_owner(root, owner, by=by, authority=authority)
