"""docs/flink.md: its class on a real JVM, and its shell commands, before a real console."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from accounts import tokens
from policies.decisions import slices
from tests.admitted import admitted_service
from tests.api.world import Shop, make_shop
from tests.client.site import Site

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "flink.md").read_text()
ORDERS, ITEMS = "demo/shop.sales.orders", "demo/shop.sales.items"


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    """Ana reads orders and may not read items."""
    slices.forget_all()
    shop: Shop = make_shop()
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    site = Site()
    site.start()
    yield site
    site.stop()


def block(language: str) -> str:
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.S | re.M)
    return str(code)


@pytest.fixture(scope="module")
def gate(plain: Any) -> Any:
    """The page's class, compiled once by the compiler that Spark brings along."""
    compiler = plain._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(block("java"))
    text = plain._jvm.java.lang.Class.forName("java.lang.String")
    kinds = plain.sparkContext._gateway.new_array(plain._jvm.java.lang.Class, 2)
    kinds[0] = kinds[1] = text
    made = compiler.getClassLoader().loadClass("LakewardenGate").getConstructor(kinds)

    def at(url: str, token: str) -> Any:
        given = plain.sparkContext._gateway.new_array(plain._jvm.java.lang.Object, 2)
        given[0], given[1] = url, token
        return made.newInstance(given)

    return at


@pytest.mark.seed("S4-004")
def test_the_class_of_the_page_asks_and_obeys(gate: Any, site: Site) -> None:
    token = tokens.create(admitted_service("flink"), scopes=("check",))
    asking = gate(site.url, token)
    asking.require("ana", "read", "table", ORDERS)
    for user, action, table in (
        ("ana", "write", ORDERS),
        ("ana", "read", ITEMS),
        ("nobody", "read", ORDERS),
        ('ana","type":"group', "read", ORDERS),
        ("ana\\", "read", ORDERS),
        ("ana", "read", 'demo/shop.sales.items"},"x":{"id":"demo/shop.sales.orders'),
    ):
        with pytest.raises(Exception, match=r"SecurityException|answered 400"):
            asking.require(user, action, "table", table)


@pytest.mark.seed("S4-004")
def test_no_answer_is_no_yes(gate: Any, site: Site) -> None:
    with pytest.raises(Exception, match="the console answered 401"):
        gate(site.url, "lw_wrong").require("ana", "read", "table", ORDERS)
    token = tokens.create(admitted_service("flink"), scopes=("check",))
    asking = gate(site.url, token)
    site.stop()
    with pytest.raises(Exception, match=r"ConnectException|Connection refused"):
        asking.require("ana", "read", "table", ORDERS)


@pytest.mark.seed("S4-004")
def test_the_commands_of_the_page_tell_the_same(site: Site) -> None:
    token = tokens.create(admitted_service("flink"), scopes=("check",))
    commands = block("sh").replace("prod/", "demo/")
    process = subprocess.run(
        ["sh", "-c", commands],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LAKEWARDEN_URL": site.url, "LAKEWARDEN_TOKEN": token},
    ).stdout
    assert re.findall(r'"decision": ?(true|false)', process) == ["true", "true", "false"]
