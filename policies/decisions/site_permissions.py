"""What no realm's law speaks of: the site's own offices, asked for and answered like any other right."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Keeping, Membership, Principal
from accounts.seals import is_fact_sealed
from catalog.nodes import Node
from lakewarden.law.engine import Decision
from lakewarden.law.facts import Slice
from policies.authority import OPERATOR, Actor, Authority, of_operator, require
from policies.decisions import slices
from policies.decisions.facts import is_service_admin

ADMIN, REALM, KEEPER, SWITCH = "service_admin", "realm_office", "keeper", "realm_switch"
DIRECTORY = "directory"
ONLY_ADMINS = gettext_lazy("Only site admins may do this.")


def ask_admin(principal: Principal | None) -> Decision:
    """Are they one of the site's site admins?"""
    return _decided(principal is not None and is_service_admin(principal), ADMIN, 0)


def ask_realm(principal: Principal | None, root: Node) -> Decision:
    """May they give the duties of a realm: as its owner, directly or by a group, or as site admin?"""
    if principal is None:
        return _decided(False, REALM, 0)
    slice_ = slices.current(principal, root)
    return _decided(_owns(slice_, root) or is_service_admin(principal), REALM, slice_.revision)


def _owns(slice_: Slice, root: Node) -> bool:
    bits = slice_.bits.get(root.id)
    return slice_.member and bits is not None and bits.owned


def ask_keeper(principal: Principal | None, service: Principal) -> Decision:
    """Do they answer for a service account, directly or by a group, or are they a site admin?"""
    if principal is None:
        return _decided(False, KEEPER, 0)
    rows = Keeping.objects.open().filter(service=service).select_related("keeper")
    keepers = [row.keeper for row in rows if is_fact_sealed(row)]
    answers = principal in keepers or _is_inside(principal, keepers)
    return _decided(answers or is_service_admin(principal), KEEPER, 0)


def _is_inside(principal: Principal, keepers: Sequence[Principal]) -> bool:
    """Whether somebody is in one of the groups among these, by a membership that the console made."""
    groups = [keeper for keeper in keepers if keeper.kind == Principal.Kind.GROUP]
    rows = Membership.objects.open().within(timezone.now()).filter(member=principal, group__in=groups)
    return any(map(is_fact_sealed, rows)) if groups else False


def of_keeper(actor: Actor, service: Principal) -> Authority:
    """The authority over a service account's tokens.  Raises Refused."""
    refusal = gettext("Only the keeper of %(service)s and site admins may do this.") % {
        "service": service.label
    }
    return require(ask_keeper(actor.decides_as, service), actor, otherwise=refusal)


def _decided(yes: bool, operation: str, revision: int) -> Decision:
    return Decision(yes, operation, revision, "allowed" if yes else "missing")


def of_admin(actor: Actor) -> Authority:
    """The authority of a site admin.  Raises Refused."""
    return require(ask_admin(actor.decides_as), actor, otherwise=str(ONLY_ADMINS))


def is_operator(actor: Actor) -> bool:
    """Whether they run the site: at its machine's own shell, or as one of its site admins."""
    who = actor.decides_as
    return actor.via == OPERATOR.via if who is None else bool(ask_admin(who))


def ask_directory(principal: Principal | None) -> Decision:
    """Do they keep people and groups for the directory: a service account that the settings name?"""
    is_service = principal is not None and principal.kind == Principal.Kind.SERVICE
    named = principal is not None and principal.name in settings.LAKEWARDEN_DIRECTORIES
    return _decided(is_service and named, DIRECTORY, 0)


def of_directory(actor: Actor) -> Authority:
    """The authority of who keeps people and groups for the directory.  Raises Refused."""
    refusal = gettext(
        "This service account does not manage the directory: LAKEWARDEN_DIRECTORIES does not name it."
    )
    return require(ask_directory(actor.principal), actor, otherwise=refusal)


def of_operations(actor: Actor) -> Authority:
    """The authority of who runs the site.  Raises Refused."""
    return of_operator(actor) if actor.principal is None and is_operator(actor) else of_admin(actor)


def of_realm(actor: Actor, root: Node) -> Authority:
    """The authority of who owns the realm, or of a site admin.  Raises Refused."""
    refusal = gettext("Only the owner of %(realm)s and site admins may do this.") % {"realm": root.name}
    return require(ask_realm(actor.decides_as, root), actor, otherwise=refusal)


def ask_switch(principal: Principal | None, root: Node, *, enforced: bool) -> Decision:
    """May they switch a realm's authorization: its owner; to have it enforced again, a site admin too."""
    if enforced:
        return ask_realm(principal, root)
    if principal is None:
        return _decided(False, SWITCH, 0)
    slice_ = slices.current(principal, root)
    return _decided(_owns(slice_, root), SWITCH, slice_.revision)


def of_switch(actor: Actor, root: Node, *, enforced: bool) -> Authority:
    """The authority to do that.  Raises Refused."""
    refusal = gettext("Only the owner of %(realm)s may do this.") % {"realm": root.name}
    return require(ask_switch(actor.decides_as, root, enforced=enforced), actor, otherwise=refusal)
