"""Retention and the archive in headless Chromium: for everybody, at both widths."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from policies.record.archive import retention
from policies.services import objects
from tests.console.screens import LOOKS, faults
from tests.console.test_browser import site, visit
from tests.factories import AUTHORITY, BY, the
from tests.policies.test_archiving import age, moved, realm, top

__all__ = ["site", "top", "visit"]  # fixtures
pytestmark = pytest.mark.browser


def addresses() -> dict[str, tuple[str, int]]:
    """A metalake whose first changes are archived; each page with the status it has."""
    root, orders = the("metalake"), the("table", "shop.sales.orders").id
    objects.drop(the("table", "shop.stock.items"), by=BY, authority=AUTHORITY)
    age(timedelta(days=730))
    retention.set_days(realm(root), 400, by=BY, authority=AUTHORITY)
    archive = moved(root)
    return {
        "a realm": (f"/realms/{root.id}", 200),
        "its retention": (f"/realms/{root.id}/retention", 200),
        "its policy file": (f"/realms/{root.id}/policies", 200),
        "the archive": ("/history/archive", 200),
        "what was found": ("/history/archive?realm=demo&q=stock", 200),
        "nobody of that name": ("/history/archive?realm=demo&person=nobody", 200),
        "a day before it": (f"/objects/{orders}/then?at={archive.upto - 1}", 410),
    }


@pytest.mark.slow
def test_every_room_is_accessible_and_fits(visit: Callable[..., Any], top: Path) -> None:
    page, problems = visit("marek"), []
    for name, (address, status) in addresses().items():
        assert page.goto(address).status == status, name
        problems += faults(page, LOOKS, name)
    assert not problems
