"""The CDAP most of these tests start from."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from tests.cdap.world import Caller, a_cdap
from tests.kept import kept


def make_cdap() -> Node:
    """Admin owns it; it has the law of 4.3."""
    return a_cdap()


cdap = kept(make_cdap)


@pytest.fixture
def admin(cdap: Node) -> Caller:
    return Caller("admin")
