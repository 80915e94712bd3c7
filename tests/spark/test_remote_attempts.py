"""Every line of hostile.toml that a client can say, said to the Connect server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("grpc", reason="grpcio is missing; make setup installs it")

from lakewarden.spark.errors import CODE
from tests.ports import free_port
from tests.spark.attempts import DRIVER, FACTS, SHARED, Attempt, Outcome, attempts, build, changes, filled
from tests.spark.conftest import CATALOGS
from tests.spark.connect import ROOT, Everybody, connect_server

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2400)]
OWNER = """
owner metalake demo
place @base fileset fs.area.base
place @house/hx_shop.db/secret table lake.hx_shop.secret
"""
SAYABLE = [(number, attempt) for number, attempt in enumerate(attempts()) if not attempt.not_remote]


class Remote:
    """A user's client, in a process of its own."""

    def __init__(self, address: str, user: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.remote", f"{address}/;user_id={user}"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, verb: str, text: str) -> Any:
        ask, hear = self._process.stdin, self._process.stdout
        assert ask is not None
        assert hear is not None
        ask.write(json.dumps([verb, text]) + "\n")
        ask.flush()
        return json.loads(hear.readline())

    def say(self, text: str) -> Outcome:
        shown, error = self.ask("say", text)
        return Outcome(shown, RuntimeError(error) if error else None)

    def must(self, text: str) -> None:
        outcome = self.say(text)
        assert outcome.error is None, f"{text}: {outcome.error}"

    def end(self) -> None:
        self._process.communicate(timeout=60)


class World(NamedTuple):
    """What Olga, who owns everything, made there, and Ana, who tries."""

    base: Path
    places: dict[str, str]
    olga: Remote
    ana: Remote
    before: dict[str, Any]


@pytest.fixture(scope="module")
def world(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    base, home = tmp_path_factory.mktemp("hx"), tmp_path_factory.mktemp("remote")
    places = {
        "@base": str(base),
        "@house": str(home / "warehouse"),
        "@url": "jdbc:derby:memory:pg",
        "@driver": DRIVER,
    }
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": places["@house"],
        "spark.sql.catalog.pg": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.pg.url": "jdbc:derby:memory:pg;create=true",
        "spark.sql.catalog.pg.driver": DRIVER,
    }
    console = Everybody({"ana": filled(FACTS, places), "olga": filled(OWNER, places)})
    threading.Thread(target=console.serve_forever, args=(0.01,), daemon=True).start()
    with connect_server(console, home, settings, CATALOGS, free_port()) as address:
        olga, ana = Remote(address, "olga"), Remote(address, "ana")
        build(olga.must, base, places, functions=True)
        for statement in SHARED:
            olga.must(statement)
        yield World(base, places, olga, ana, olga.ask("state", str(base)))
        olga.end()
        ana.end()
    console.shutdown()
    console.server_close()


def test_each_comes_to_what_the_table_says(world: World) -> None:
    wrong = []
    for number, attempt in SAYABLE:
        outcome = world.ana.say(filled(attempt.text, world.places, f"_r{number}"))
        if trouble := _trouble(attempt, outcome):
            wrong.append(f"{number} {attempt.text}\n    {trouble}")
    assert not wrong, f"{len(wrong)} of {len(SAYABLE)}:\n" + "\n".join(wrong)
    assert len(SAYABLE) >= 300


def test_nothing_was_written_meanwhile(world: World) -> None:
    now = world.olga.ask("state", str(world.base))
    assert changes(world.before, now, world.base) == set()


def test_whoever_may_is_served_the_same(world: World) -> None:
    for name in ("hx_shop.secret", "hx_shop.zoned", "hx_vault.gold", "pg.hx_sales.orders"):
        assert world.olga.say(f"SELECT * FROM {name}").leaked


def _trouble(attempt: Attempt, outcome: Outcome) -> str:
    """What an attempt came to that it must not; nothing when all is well."""
    ended = " ".join(str(outcome.error or "it ran").split())[:300]
    if outcome.leaked:
        return f"it showed what is hidden: {outcome.shown[:200]} {ended}"
    if attempt.expected == "refused" and CODE not in str(outcome.error):
        return f"not refused by the guard: {ended}"
    if attempt.expected == "filtered" and (outcome.error or not outcome.shown):
        return f"it should have run: {ended}"
    return ""
