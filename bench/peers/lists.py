"""Who sees which tables of a schema: ours beside arrays in SQL, and the answers compared first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.peers import Peer
    from bench.peers.clock import Row


def measured(
    asked: Sequence[tuple[int, int]],
    persons: Mapping[int, Any],
    arrays: Peer,
    check: Callable[[str, object, object], None],
    rounds: int,
) -> Row:
    """What the list of a schema costs; `asked` are people and schemas, by their numbers."""
    from bench.peers.clock import Row, by_turns
    from catalog.nodes import nodes
    from policies.decisions import slices
    from policies.decisions.lookups import visible_objects

    schemas = nodes({schema for _, schema in asked})
    read = arrays.list
    assert read is not None

    def ours() -> list[set[int]]:
        return [
            set(
                visible_objects.children(
                    slices.current(persons[p], schemas[s]), schemas[s], "table"
                ).values_list("securable", flat=True)
            )
            for p, s in asked
        ]

    def theirs() -> list[set[int]]:
        return [read(p, s) for p, s in asked]

    check("lists", ours(), theirs())
    costs = by_turns({"ours": ours, "arrays": theirs}, rounds)
    cost = {name: took / len(asked) for name, took in costs.items()}
    return Row(
        "list of a schema, ms", f"{cost['ours']:.2f}", f"array SQL {cost['arrays']:.2f}",
        cost["arrays"] / cost["ours"], 0.9,
    )  # fmt: skip
