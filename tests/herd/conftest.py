"""The Herd most of these tests start from."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from tests.herd.world import Caller, a_herd, give, namespaces, role
from tests.kept import kept


def make_herd() -> Node:
    """Admin administers it; olivia is the data owner of SALES, which STOCK lies beside."""
    herd = a_herd()
    namespaces(herd, "SALES", "STOCK")
    role("olivia")
    give("olivia", "SALES", "READ", "GRANT")
    return herd


herd = kept(make_herd)


@pytest.fixture
def olivia(herd: Node) -> Caller:
    return Caller("olivia")


@pytest.fixture
def admin(herd: Node) -> Caller:
    return Caller("admin")


@pytest.fixture
def pdp(herd: Node) -> Caller:
    """A service that asks about everybody."""
    return Caller("pdp", kind="service")
