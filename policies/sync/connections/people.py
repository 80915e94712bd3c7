"""Whose accounts to look for where not all can be listed."""

from __future__ import annotations

from accounts.models import Principal
from catalog.nodes import Node
from policies.models import RealmMember

KINDS = (Principal.Kind.USER, Principal.Kind.SERVICE)


def people(node: Node) -> frozenset[str]:
    """The names of all people and services that the realm admits.  One query."""
    members = RealmMember.objects.open().filter(realm=node.realm_id, principal__kind__in=KINDS)
    return frozenset(members.values_list("principal__name", flat=True))
