"""The contract on a Herd and a CDAP of a second console, where nothing tells whose a right is."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Right
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.kit import READS, WRITES
from lakewarden.backends.testing.suite import ORDERS
from tests.backends.worlds import rounds
from tests.peers.entry_worlds import Cdap, Herd

pytestmark = pytest.mark.django_db
WORDS = {READS: ("READ", "EXECUTE"), WRITES: ("WRITE",)}


def on_kind(kind: str):
    def on(schema: str, table: str, *deeds: str) -> frozenset[Right]:
        return frozenset(Right(kind, (schema, table), word) for deed in deeds for word in WORDS[deed])

    return on


class Entries(Contract):
    has_roles = False
    has_ids = False
    seeds = rounds(1)


class TestHerd(Entries):
    on = staticmethod(on_kind("namespace"))
    READ, WRITE, COSTS = on(*ORDERS, READS), on(*ORDERS, READS, WRITES), on("sales", "costs", READS)
    sees_objects = False  # a namespace cannot be renamed, nor dropped while anybody holds something in it
    odd_names = ("with.dot", 'with "quotes"', "with space", "Größe", "表", "semi;colon", "%s{}")

    @pytest.fixture
    def site(self, peer, keeper):
        there = Herd(peer, keeper)
        yield there
        there.close()


class TestCdap(Entries):
    on = staticmethod(on_kind("dataset"))
    READ, WRITE, COSTS = on(*ORDERS, READS), on(*ORDERS, READS, WRITES), on("sales", "costs", READS)
    sees_objects = False  # it is granted on texts, whether there is such a thing or not
    odd_names = ("dash-ed", "Größe", "表", "semi;colon", "%s{}", "back\\slash")

    @pytest.fixture
    def site(self, peer, keeper):
        return Cdap(peer, keeper)
