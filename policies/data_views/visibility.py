"""Where somebody may read of others: what they may grant on, and what they have a duty to look at."""

from __future__ import annotations

from accounts.models import Principal
from catalog.nodes import Node
from policies.decisions import duties
from policies.record import history


def governed(viewer: Principal, top: Node) -> frozenset[int] | None:
    """The objects on and below which somebody may see others' access; None for nowhere."""
    reviewed = history.of_realm(duties.held(viewer, "review_access"), top)
    return frozenset({*history.of_one_realm(viewer, top).objects, *reviewed}) or None


def sees_all_access(viewer: Principal, top: Node) -> bool:
    """Whether somebody may see the access of everybody in a realm, as exporting and planning it take."""
    return top.id in (governed(viewer, top) or ())


def recorded(viewer: Principal, top: Node) -> history.Sight | None:
    """How much of the realm's record somebody may see; None for nothing of others."""
    seen = history.of_one_realm(viewer, top)
    return seen if seen.objects else None
