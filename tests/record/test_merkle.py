"""The Merkle tree: roots and proofs against RFC 6962's own recursive definition."""

from __future__ import annotations

import hashlib
import random

import pytest

from lakewarden.record.merkle import Frontier, ProofMaker, leaf_hash, node_hash, root_from_proof


def naive_root(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaf_hash(leaves[0]) if leaves else hashlib.sha256().digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(naive_root(leaves[:split]), naive_root(leaves[split:]))


def some(count: int) -> list[bytes]:
    return [hashlib.sha256(str(number).encode()).digest() for number in range(count)]


@pytest.mark.parametrize("count", [*range(35), 100, 127, 128, 129])
def test_the_root_is_that_of_the_definition(count: int) -> None:
    tree, leaves = Frontier(), some(count)
    for leaf in leaves:
        tree.append(leaf)
    assert tree.root() == naive_root(leaves)


def test_a_frontier_put_aside_goes_on_where_it_was() -> None:
    leaves = some(77)
    first = Frontier()
    for leaf in leaves[:41]:
        first.append(leaf)
    second = Frontier(first.size, list(first.peaks))
    for leaf in leaves[41:]:
        second.append(leaf)
    assert second.root() == naive_root(leaves)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 21, 64, 65])
def test_every_leaf_is_proved_and_nothing_else(count: int) -> None:
    leaves = some(count)
    maker = ProofMaker(range(count))
    for leaf in leaves:
        maker.append(leaf)
    root = maker.finish()
    assert root == naive_root(leaves)
    for place, leaf in enumerate(leaves):
        proof = maker.proofs[place]
        assert root_from_proof(leaf, place, count, proof) == root
        assert root_from_proof(b"another", place, count, proof) != root
        assert root_from_proof(leaf, place + 1, count, proof) != root
        assert root_from_proof(leaf, place, count, [*proof, root]) is None
        if proof:
            assert root_from_proof(leaf, place, count, proof[:-1]) is None


def test_a_few_proofs_of_many_leaves() -> None:
    leaves, wanted = some(1000), random.Random(7).sample(range(1000), 9)
    maker = ProofMaker(wanted)
    for leaf in leaves:
        maker.append(leaf)
    root = maker.finish()
    assert set(maker.proofs) == set(wanted)
    for place in wanted:
        assert root_from_proof(leaves[place], place, 1000, maker.proofs[place]) == root
