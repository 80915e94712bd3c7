"""The worlds of the other folders, for commands."""

from tests.policies.conftest import shop
from tests.sync.conftest import source

__all__ = ["shop", "source"]
