"""The CDAP most of these tests start from."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from tests.cdap.world import Caller, a_cdap


@pytest.fixture
def cdap(db: None) -> Node:
    """Admin owns it; it has the law of 4.3."""
    return a_cdap()


@pytest.fixture
def admin(cdap: Node) -> Caller:
    return Caller("admin")
