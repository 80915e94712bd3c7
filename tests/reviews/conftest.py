"""The world of the reviews: the shop, with jobs that told what they used."""

from __future__ import annotations

from tests.kept import kept
from tests.policies.conftest import make_shop

shop = kept(make_shop)
