"""The main job in headless Chromium: giving on a pattern with a live preview, with scripts and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts import people
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.decisions import ask
from policies.services import entities
from tests.cdap.world import a_cdap, a_role, give
from tests.console.screens import EVERY_LOOK, faults_of
from tests.console.test_browser import EITHER_WAY, site, visit

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser


@pytest.fixture
def cdap(site: str) -> Node:
    """Beside the shop: a CDAP of Marek's with two datasets, and names that match too much and nothing."""
    root = a_cdap(owner="marek")
    for text in ("namespace:ns1", "dataset:ns1.orders", "dataset:ns1.items", "application:ns1.app"):
        entities.create(root, parse(text), by=OPERATOR)
    a_role(root, "readers", "carl")
    give(root, "dataset:ns1.o*", "role:readers", "READ")
    give(root, "stream:ns1.*", "group:analysts", "READ", "WRITE")
    entities.create(root, parse("dataset:ns1.other"), by=OPERATOR)
    return root


def may_read(root: Node, name: str) -> bool:
    person = people.ensure("user", name)
    return bool(ask.ask_entity(person, "READ", root, parse("dataset:ns1.orders")))


@EITHER_WAY
def test_rights_are_given_on_a_pattern_undone_and_revoked(
    scripts: bool, cdap: Node, visit: Callable[..., Any]
) -> None:
    page = visit("marek", scripts=scripts)
    page.goto(f"/instances/{cdap.id}")
    page.get_by_role("link", name="Grant access").click()
    page.get_by_label("On", exact=True).fill("dataset:ns1.*")
    page.get_by_label("Who", exact=True).fill("ana")
    page.get_by_label("Who", exact=True).press("Enter")
    page.get_by_text("gains read on 3 datasets").wait_for()
    page.get_by_label("On", exact=True).fill("dataset:ns1.ord*")
    if not scripts:
        page.get_by_role("button", name="Preview the change").click()
    page.get_by_text("1 dataset now: ns1.orders. Also those created later.").wait_for()
    assert not may_read(cdap, "ana")
    page.get_by_role("button", name="Grant read").click()
    page.get_by_role("status").get_by_text("Ana Analyst: read on dataset:ns1.ord*").wait_for()
    assert may_read(cdap, "ana")

    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert not may_read(cdap, "ana")

    page.goto(f"/instances/{cdap.id}?s=lost")
    page.get_by_role("link", name="dataset:ns1.o*").click()
    page.get_by_text("1 dataset added since it was first granted.").wait_for()
    page.get_by_role("link", name="Revoke").click()
    page.get_by_text("loses read on 2 datasets").wait_for()
    page.get_by_role("button", name="Revoke from role readers").click()
    page.get_by_role("status").get_by_text("revoked from role readers").wait_for()
    assert not may_read(cdap, "carl")


@EVERY_LOOK
def test_every_room_is_accessible_and_fits(looks: Any, cdap: Node, visit: Callable[..., Any]) -> None:
    base = f"/instances/{cdap.id}"
    rooms = (
        base,
        f"{base}?s=lost",
        f"{base}/entities",
        f"{base}/entities?in=namespace:ns1",
        f"{base}/name?text=dataset:ns1.o*",
        f"{base}/name?text=dataset:ns1.orders",
        f"{base}/name?text=stream:ns1.*",
        f"{base}/grant?text=dataset:ns1.*&who=group:analysts",
        f"{base}/revoke?text=dataset:ns1.o*&who=role:readers",
    )
    assert not faults_of(visit("marek"), rooms, looks)
