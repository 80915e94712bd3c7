"""How much of what was decided about an object is true out there: applied to 41 of 42 people."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from catalog.nodes import Node
from policies.models import Backend, BackendFinding, BackendLogins


@dataclass(frozen=True)
class Standing:
    """Who has out there what was decided, as of the last look; the rest by why not."""

    applied: int
    of: int
    waiting: tuple[str, ...]
    without_login: tuple[str, ...]


def standing(backend: Backend, node: Node, names: Collection[str]) -> Standing:
    """For people with access to an object, by their login names.  Two queries, however many."""
    wanted = set(names)
    logins = BackendLogins.objects.filter(backend=backend).values_list("names", flat=True).first() or []
    without = wanted - set(logins)
    waiting = (wanted - without) & _waiting(backend, node, wanted)
    applied = len(wanted) - len(without) - len(waiting)
    return Standing(applied, len(wanted), tuple(sorted(waiting)), tuple(sorted(without)))


def _waiting(backend: Backend, node: Node, names: Collection[str]) -> set[str]:
    """Those whom a missing right on the object, on the way to it, or a missing membership concerns."""
    here = Q(securable__in=node.lineage) | Q(type="")
    rows = BackendFinding.objects.filter(here, backend=backend, kind="missing", people__overlap=list(names))
    return {name for people in rows.values_list("people", flat=True) for name in people}
