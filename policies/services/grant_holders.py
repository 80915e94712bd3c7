"""By whom a direct grant is held: by a personal role, or by the holder directly where the law allows that."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Q
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node, any_of
from lakewarden.law import dialects
from lakewarden.law.facts import Station
from policies.decisions import personal_role_names
from policies.decisions.cache_versions import realm_key
from policies.errors import Invalid
from policies.models import Grant
from policies.record.change import ChangeInProgress
from policies.services import personal_roles

Held = dict[str, int]
"""The holder of a grant, as the fields of its row."""


def find_all(node: Node, holders: Collection[Principal]) -> tuple[Q, dict[int, int]]:
    """Which grants are direct ones of these holders, and the holder of each personal role.  One query."""
    if dialects.get(node.kind).grantees:
        return any_of("holder_id", [item.pk for item in holders]), {}
    roles = personal_role_names.find_all(node, holders)
    return any_of("role_id", roles.values()), {role: holder for holder, role in roles.items()}


def ensure(current: ChangeInProgress, node: Node, holder: Principal) -> Held:
    """What is to hold a direct grant to a principal, made when absent.  Raises Invalid."""
    return ensure_all(current, node, [holder])[holder.pk]


def ensure_all(current: ChangeInProgress, node: Node, holders: Iterable[Principal]) -> dict[int, Held]:
    """The same for many, by principal."""
    every = {holder.pk: holder for holder in holders}
    grantees = dialects.get(node.kind).grantees
    if not grantees:
        roles = personal_roles.ensure_all(current, node, every.values())
        return {key: {"role_id": role} for key, role in roles.items()}
    for holder in every.values():
        if holder.kind not in grantees:
            raise Invalid(
                gettext("In %(realm)s nothing can be granted to a %(kind)s.")
                % {"realm": node.realm, "kind": holder.get_kind_display()}
            )
    known = Grant.objects.filter(any_of("holder_id", every), securable__realm=node.realm_id)
    if every.keys() - set(known.values_list("holder", flat=True).distinct()):
        # others may bear such a name in other letters, or end as the pattern says, and know nothing of it yet
        current.touch(realm_key(node.realm_id))
    return {key: {"holder_id": key} for key in every}


def path(node: Node, holder: Principal) -> tuple[Station, ...]:
    """The way from the holder to what a direct grant gives them."""
    if dialects.get(node.kind).grantees:
        return ()
    return (Station("role", personal_role_names.name_for(holder)),)
