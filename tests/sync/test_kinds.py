"""Kinds of backend: those built in, one that a package brought, and one whose package is no longer there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from catalog.nodes import Node, node
from lakewarden.backends import kinds
from lakewarden.backends.base import Right
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind, plain_parts
from lakewarden.backends.testing.memory import Memory, World
from policies.errors import Invalid
from policies.models import Backend
from policies.sync import worker
from policies.sync.connections import opening, registration
from policies.sync.connections.needs import places
from policies.sync.desired import Wanted, targets_below
from policies.sync.discovery.objects import Discovered, discover
from tests.cdap_law.world import a_cdap
from tests.factories import AUTHORITY, BY, a_metalake, describe, rewritten, the
from tests.sync.conftest import Source

WORLD = World(people={"ana", "mia"})


def over_memory(url: str, *, realm: str, mark: str) -> Memory:
    return Memory(WORLD)


BY_PERSON = Kind("people", "People", over_memory, ("people://",), "people://host", by_person=True)
WHOLE = Kind(
    "whole",
    "Whole",
    over_memory,
    ("whole://",),
    "whole://host",
    whole_realm=True,
    objects={item: item for item in ("metalake", "catalog", "schema", "table", "fileset")},
)
NO_KIND = "not a kind"


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What packages beside the console named."""
    entries = {
        name: EntryPoint(name, f"tests.sync.test_kinds:{what}", kinds.GROUP)
        for name, what in (
            ("people", "BY_PERSON"),
            ("whole", "WHOLE"),
            ("odd", "NO_KIND"),
            ("lost", "NOWHERE"),
        )
    }
    kinds.forget()
    with monkeypatch.context() as patch:
        patch.setattr(kinds, "_plugged", lambda: entries)
        yield
    kinds.forget()


def test_a_package_brings_kinds_and_what_it_cannot_load_is_said(plugged: None) -> None:
    assert kinds.get("people") is not None
    assert {"postgresql", "mariadb", "people"} <= set(kinds.built())
    assert {"odd", "lost"}.isdisjoint(kinds.built())
    with pytest.raises(Misconfigured, match="cannot be loaded"):
        kinds.get("lost")
    with pytest.raises(Misconfigured, match="is not the kind"):
        kinds.get("odd")


def test_a_kind_nobody_knows_is_named_with_those_that_are(db: None) -> None:
    with pytest.raises(Invalid, match=r"No backend of kind `paper` is installed here; known are postgresql"):
        registration.connect(
            a_metalake(), "shop", "paper", "paper://x", policy="report", by=BY, authority=AUTHORITY
        )


@pytest.mark.parametrize(
    ("catalog", "kind", "url", "told"),
    [
        ("", "people", "people://h", "connected to a catalog"),
        ("shop", "whole", "whole://h", "connected to a whole realm"),
        ("shop", "people", "whole://h", "begins with people://"),
    ],
)
def test_a_connection_fits_its_kind(
    db: None, plugged: None, catalog: str, kind: str, url: str, told: str
) -> None:
    with pytest.raises(Invalid, match=told):
        registration.connect(a_metalake(), catalog, kind, url, policy="report", by=BY, authority=AUTHORITY)
    assert not Backend.objects.exists()


def test_a_whole_realm_is_connected_by_its_root(db: None, plugged: None) -> None:
    root = a_metalake()
    row = registration.connect(root, "", "whole", "whole://h/x", policy="report", by=BY, authority=AUTHORITY)
    assert (row.catalog_id, row.place, str(row)) == (root.id, "h/x", "Whole h/x")


def test_without_its_package_a_backend_fails_in_words(governed: Backend) -> None:
    rewritten(Backend.objects.all(), kind="paper")
    row = Backend.objects.get()
    assert row.get_kind_display() == "paper"
    with transaction.atomic():
        worker.deliver(row)
    row.refresh_from_db()
    assert (row.state, row.error_kind) == ("failed", "misconfigured")
    assert "no backend of kind `paper` is installed here" in row.error


def test_where_there_are_no_roles_each_person_has_their_own_rights(governed: Backend, source: Source) -> None:
    catalog = node(governed.catalog_id)
    assert catalog is not None
    world = World(people={"mia", "carl", "ana"})
    memory, targets = Memory(world), targets_below(catalog, BY_PERSON)
    mirror = Wanted(memory, BY_PERSON, catalog, targets, now=timezone.now(), seen=memory.observe())
    wanted = mirror.desired(frozenset(world.people))
    read = Right("table", ("sales", "orders"), "SELECT")
    assert wanted.members == {f"person:{name}": frozenset({name}) for name in ("ana", "carl", "mia")}
    assert [name for name in ("ana", "carl", "mia") if read in wanted.roles[f"person:{name}"]] == ["mia"]


def test_objects_with_a_place_of_their_own_are_told_to_what_is_placed(governed: Backend) -> None:
    orders, items, catalog = the("table", "shop.sales.orders"), the("table", "shop.stock.items"), None
    for name, content in (
        (orders, {"properties": {"location": "file:/srv/lake/orders"}}),
        (items, {"storageLocations": {"b": "file:/srv/b", "a": "file:/srv/a"}}),
    ):
        describe(name.id, content)
    catalog = node(governed.catalog_id)
    assert catalog is not None
    assert places(catalog, kinds.get("postgresql")) == {
        ("sales", "orders"): "file:/srv/lake/orders",
        ("stock", "items"): "file:/srv/a",
    }


def test_a_whole_realm_is_discovered_with_its_catalogs_renames_and_what_is_made_again(
    db: None, plugged: None
) -> None:
    root, world = a_metalake(), World()
    registration.connect(root, "", "whole", "whole://h/x", policy="report", by=BY, authority=AUTHORITY)
    for type_, *path in (
        ("catalog", "shop"),
        ("schema", "shop", "sales"),
        ("table", "shop", "sales", "orders"),
        ("fileset", "shop", "sales", "raw"),
        ("quark", "shop", "sales", "odd"),
    ):
        world.create(type_, tuple(path))
    assert (first := read(root, world)).added == 4
    assert read(root, world).added == 0
    before = the("fileset", "shop.sales.raw")
    world.rename(("shop", "sales"), "sold")
    world.drop(("shop", "sales"))
    world.drop(("shop", "sold", "orders"))
    world.create("table", ("shop", "sold", "orders"))
    again = read(root, world)
    assert (again.added, again.renamed) == (1, 1)
    assert the("fileset", "shop.sold.raw").id == before.id
    world.drop(("shop", "sold", "raw"))
    assert read(root, world).vanished == ["shop.sold.raw"]
    assert the("fileset", "shop.sold.raw").id == before.id
    assert first.vanished == []


def read(root: Node, world: World) -> Discovered:
    return discover(root, Memory(world).observe(), by=BY, authority=AUTHORITY)


FILES = Kind("paths", "Paths", over_memory, ("file:///",), "file:///srv/lake")


def test_only_folders_that_the_site_names_are_written(settings: Settings, tmp_path: Path) -> None:
    lake, beside = tmp_path / "lake", tmp_path / "lakes"
    for folder in (lake, beside):
        folder.mkdir()
    (lake / "way").symlink_to(beside)
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback", str(lake)]
    opening.check_allowed(FILES, f"file://{lake}/shop")
    for path in (beside, lake / ".." / "lakes", lake / "way", "/", "/etc"):
        with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
            opening.check_allowed(FILES, f"file://{path}")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "https://u:p%23@h:8443/x",
            {"host": "h", "port": "8443", "dbname": "x", "user": "u", "password": "p#"},
        ),
        ("https://[::1]/", {"host": "::1", "port": "", "dbname": "", "user": "", "password": ""}),
        ("file:///srv/a%20b", {"folder": "/srv/a b"}),
    ],
)
def test_a_plain_url_is_read_as_it_is_written(url: str, told: dict[str, Any]) -> None:
    assert plain_parts(url) == told


@pytest.mark.parametrize(
    "url", ["https://u:sesame@h:port/", "https://u:sesame@[::1/", "https://a\\@sesame/", "https://h /sesame"]
)
def test_a_url_that_is_none_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        plain_parts(url)
    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize(("policy", "fits"), [("3.5", False), ("4.3", True)])
def test_a_realm_is_connected_to_what_knows_its_law(db: None, policy: str, fits: bool) -> None:
    root, url = a_cdap("c", policy), "ranger+http://u:p@127.0.0.1:1/cl1_cdap"
    try:
        registration.connect(root, "", "ranger-cdap", url, policy="report", by=BY, authority=AUTHORITY)
    except Invalid as problem:
        assert "under the law of cdap43" in str(problem)
    assert Backend.objects.filter(catalog=root.id).exists() is fits
