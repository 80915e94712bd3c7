"""Which of the objects that the record names have a page for the viewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node, nodes
from lakewarden.law.facts import Slice
from policies.decisions import ask, slices
from policies.record import history
from policies.record.history import Sight


def leading(
    viewer: Principal,
    seen: Sight | None,
    ways: Iterable[Sequence[int]],
    given: frozenset[int] | None = None,
) -> frozenset[int]:
    """The numbers of objects that they see, or may read the history of; each is named by the way down to it.

    `seen` is how much they may see of the record, which counts for what is gone.  `given` are the objects on
    which they have the duty to view the history, if known.  Two queries, one for each realm, and two
    more for the duty.
    """
    named = {way[-1]: way for way in ways if way}
    if not named:
        return frozenset()
    given = history.given_to(viewer) if given is None else given
    now, held = timezone.now(), dict[int, Slice]()

    def opens(node: Node) -> bool:
        if node.realm_id not in held:
            held[node.realm_id] = slices.current(viewer, node, now=now)
        slice_ = held[node.realm_id]
        return (
            not given.isdisjoint(node.lineage)
            or ask.may_see(slice_, node, now=now)
            or bool(ask.answer(slice_, "grant", node, now=now))
        )

    by_id = nodes(named)
    reads = given | seen.inside if seen else given
    vanished = (key for key in named.keys() - by_id.keys() if not reads.isdisjoint(named[key]))
    return frozenset([*vanished, *(key for key, node in by_id.items() if opens(node))])
