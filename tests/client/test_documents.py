"""What the pages for authors of pipelines and of services show does what they say, before a real console."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts import tokens
from lakewarden.__main__ import main
from lakewarden.client import AccessDenied
from lakewarden.law.objects import ObjectRef
from policies.models import Use
from policies.services import objects
from policies.services.objects import NewObject
from tests.admitted import admitted_service
from tests.api.world import BY, Shop, make_shop, user
from tests.factories import describe

from .site import Site

DOCS = Path(__file__).resolve().parents[2] / "docs"
WRITTEN = "http://127.0.0.1:8000"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    """Ana may read orders and customers of schema shop.sales; the data of orders lies at s3://lake/orders."""
    shop: Shop = make_shop()
    objects.register(shop.sales, [NewObject("table", "customers")], **BY)
    shop.allow(shop.sales, "SELECT_TABLE")
    content = {"properties": {"location": "s3://lake/orders"}}
    orders = shop.tables["orders"].id
    describe(orders, content)
    site = Site()
    site.start()
    yield site
    site.stop()


def blocks(page: str, kind: str) -> str:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    blocks_ = [text for named, text in fenced if named == kind]
    assert blocks_, page
    return "\n".join(blocks_)


def run(page: str, site: Site) -> dict[str, Any]:
    """Everything that a page's Python blocks leave behind, run one after the other as ana."""
    service = tokens.create(admitted_service("etl"), scopes=("check",))
    left: dict[str, Any] = {"token": tokens.create(user("ana")), "service_token": service}
    code = blocks(page, "python").replace(WRITTEN, site.url)
    exec(compile(code, page, "exec"), left)  # noqa: S102 - our own page
    return left


def test_the_page_for_pipelines(site: Site) -> None:
    left = run("pipelines.md", site)
    orders, current = left["orders"], left["held"].current()
    assert current.decide("read", orders)
    assert not current.decide("write", orders)
    assert [lack.privilege for lack in current.explain("write", orders).missing] == ["MODIFY_TABLE"]
    assert current.at("s3a://lake/orders/day=1") == orders
    console = left["console"]
    assert console.what_may("user:ana", orders) == ["read"]
    assert orders in list(console.where_may("user:ana", "read", "table"))
    assert "user:ana" in map(str, left["asking"].who_may("read", orders))
    resolved = console.resolve("demo", names=["shop.sales.orders", "x"], locations=["s3://lake/orders"])
    assert resolved == {"shop.sales.orders": orders, "x": None, "s3://lake/orders": orders}
    assert Use.objects.get().run == "nightly-2026-11-21"


def test_the_page_for_services(site: Site) -> None:
    left = run("services.md", site)
    assert left["rows"]("ana", "orders") == "the rows of orders"
    with pytest.raises(AccessDenied):
        left["guard"].ask("ana", "write", ObjectRef.parse("table", "demo/shop.sales.orders"))
    output: list[str] = []
    environ = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "REMOTE_USER": "ana"}
    for path in ("/tables/orders", "/health", "/other"):
        left["application"]({**environ, "PATH_INFO": path}, lambda status, headers: output.append(status))
    assert output == ["200 OK", "200 OK", "403 Forbidden"]


def test_the_commands_print_what_the_page_shows(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", site.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(user("ana")))
    monkeypatch.chdir(tmp_path)
    shown = re.split(r"^\$ lakewarden ", blocks("pipelines.md", ""), flags=re.M)[1:]
    assert len(shown) == 4
    for command in shown:
        line, _, expected = command.strip().partition("\n")
        assert main(line.split()) in (0, 1)
        printed = "".join(capsys.readouterr()).strip()
        pattern = ".*".join(map(re.escape, expected.split("…")))
        assert re.fullmatch(pattern, printed, re.S), (line, printed)
