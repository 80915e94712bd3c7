"""What stands in something that is connected bears the name of something real, and opens it."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext

from catalog.nodes import Node
from catalog.queries import node as node_of
from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import Refused
from policies.models import Backend


def bound_types(backend: Backend) -> frozenset[str] | None:
    """The types of objects that are bound to real ones there; None where nobody knows."""
    try:
        return kinds.get(backend.kind).bound_types
    except Misconfigured:
        return None


def refuse_named_by_hand(parent: Node, types: Collection[str], *, by: Actor) -> None:
    """Within a change: only who owns what is connected names objects in it; else its source does.

    Who registers or renames an object owns it, and would own what really bears that name.  Raises Refused.
    """
    law = dialects.get(parent.kind)
    gives_nothing = law.by_text and "ALL" not in law.privileges  # rights are on names there, made or not
    if by.decides_as is None or not types or gives_nothing:
        return
    for backend in Backend.objects.filter(catalog__in=parent.lineage):
        bound = bound_types(backend)
        connected = node_of(backend.catalog_id)
        if connected is None or (bound is not None and bound.isdisjoint(types)):
            continue
        if not ask.ask(by.decides_as, "set_owner", connected):
            raise Refused(
                gettext(
                    "%(name)s is connected: what is in it is read from its source. Only its owner can name "
                    "objects in it here."
                )
                % {"name": connected.name}
            )
