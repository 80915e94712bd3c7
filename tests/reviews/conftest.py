"""The world of the reviews: the shop, with jobs that told what they used."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from tests.policies.conftest import make_shop


@pytest.fixture
def shop(db: None) -> Node:
    return make_shop()
