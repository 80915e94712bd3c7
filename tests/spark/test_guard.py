"""The guard from its beginning to its end, asking a console that is there, away, slow or lying."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.client import BadCredentials, ConsoleError, NotConfigured, Unavailable
from lakewarden.client.snapshot import BadSnapshot
from lakewarden.spark import AccessDenied, AlreadyGuarded, Guard, guard
from tests.client.conftest import Peer, Script, answer
from tests.spark.conftest import CATALOGS
from tests.spark.wire import wire

READER = """
allow USE_CATALOG  catalog lake
allow USE_SCHEMA   schema  lake.hr
allow SELECT_TABLE table   lake.hr.emp
"""
EMP = "SELECT name FROM hr.emp ORDER BY id"


class Console(Peer):
    """Answers snapshots by its `snapshot` script, and takes uses."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshot: Script = answer({}, 503)
        self.uses: Script = answer({}, 202)
        self.scripts = [self._either]

    def says(self, facts: str, **other: Any) -> None:
        self.snapshot = answer(wire(facts, **{"issued": time.time() - 1, **other}))

    def _either(self, handler: Any) -> None:
        (self.uses if "uses" in handler.path else self.snapshot)(handler)

    @property
    def reports(self) -> list[Any]:
        return [body for path, body, _ in self.asked if path == "/authz/v1/uses"]


@pytest.fixture
def console() -> Iterator[Console]:
    import threading

    made = Console()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def session(plain: Any) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession(plain.sparkContext, plain._jsparkSession)


@pytest.fixture
def guarded(console: Console, session: Any, tmp_path: Path) -> Callable[..., Guard]:
    def make(**options: Any) -> Guard:
        client = console.client(**{"attempts": 1, **options.pop("client", {})})
        places = {"catalogs": CATALOGS, "spool": tmp_path / "spool", **options}
        return guard(session, realm="demo", client=client, **places)

    return make


def uses(report: Any) -> set[tuple[str, str, bool]]:
    return {(use["action"], use["resource"], use["executed"]) for use in report["uses"]}


def test_the_session_is_guarded_within_the_block_alone(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    before = session.table("hr.dept")
    with guarded():
        assert [row.name for row in session.sql(EMP).collect()] == ["ada", "bo"]
        with pytest.raises(AccessDenied, match=r"lacks SELECT_TABLE on table demo/lake\.hr\.dept"):
            session.table("hr.dept")
    assert session.table("hr.dept").count() == before.count()


def test_one_guard_at_a_time(console: Console, session: Any, guarded: Callable[..., Guard]) -> None:
    console.says(READER)
    with guarded():
        with pytest.raises(AlreadyGuarded):
            guarded().start()
        assert session.sql(EMP).count() == 2
    with guarded():
        assert session.sql(EMP).count() == 2


def test_the_settings_say_what_a_catalog_stands_for(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    session.conf.set("spark.lakewarden.catalog.spark_catalog", "demo/lake")
    try:
        with guarded(catalogs=None):
            session.conf.set("spark.lakewarden.catalog.spark_catalog", "demo/other")  # too late
            assert session.sql(EMP).count() == 2
        with pytest.raises(NotConfigured, match=r"is in elsewhere, but the guard asks about demo"):
            guarded(catalogs={"pg": "elsewhere/pg"})
        with pytest.raises(NotConfigured, match="must name a catalog"):
            guarded(catalogs={"pg": "demo"})
    finally:
        session.conf.unset("spark.lakewarden.catalog.spark_catalog")


@pytest.mark.parametrize(
    ("snapshot", "refusal", "words"),
    [
        (answer({}, 503), Unavailable, "gave no answer"),
        (answer({"title": "no"}, 401), BadCredentials, "401"),
        (lambda handler: time.sleep(4), Unavailable, "gave no answer"),
        (answer({**wire(READER, issued=time.time()), "revision": 8}), BadSnapshot, "digest does not match"),
        (answer(wire(READER, issued=time.time() - 99, lasts=9)), BadSnapshot, "too old"),
        (answer(wire(READER, issued=time.time(), schema=9)), BadSnapshot, "schema"),
        (answer(wire(READER, issued=time.time(), realm="other")), BadSnapshot, "another principal"),
    ],
    ids=["down", "a wrong token", "slow", "a wrong digest", "expired", "another schema", "another realm"],
)
def test_without_a_good_snapshot_nothing_starts(
    console: Console,
    session: Any,
    guarded: Callable[..., Guard],
    snapshot: Script,
    refusal: type[ConsoleError],
    words: str,
) -> None:
    console.snapshot = snapshot
    soon = {"timeout": 1.0} if refusal is Unavailable else {}
    with pytest.raises(refusal, match=words), guarded(client=soon):
        pytest.fail("the block must not begin")
    assert session.sql(EMP).count() == 2  # as it was before


def test_a_console_that_goes_away_is_survived_for_a_while(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    with guarded(refresh=0.01):
        assert session.sql(EMP).count() == 2
        console.snapshot = answer({}, 503)
        deadline = time.monotonic() + 60
        with pytest.raises(Unavailable, match="gave no answer"):
            while time.monotonic() < deadline:
                session.sql(EMP).collect()
        console.says(READER)
        time.sleep(0.1)
        assert session.sql(EMP).count() == 2


def test_a_token_that_is_revoked_ends_everything_at_once(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    with guarded(refresh=0.01):
        assert session.sql(EMP).count() == 2
        console.snapshot = answer({"title": "revoked"}, 401)
        time.sleep(0.05)
        with pytest.raises(BadCredentials):
            session.sql(EMP)


@pytest.mark.parametrize(
    "lie",
    [{"revision": 3}, {"issued": time.time() - 99, "lasts": 9.0}],
    ids=["an old revision", "an old snapshot"],
)
def test_lies_later_on_count_like_silence(
    console: Console, session: Any, guarded: Callable[..., Guard], lie: dict[str, Any]
) -> None:
    console.says(READER)
    with guarded(refresh=0.01):
        session.sql(EMP).collect()
        console.says(READER + "allow SELECT_TABLE table lake.hr.dept", **lie)
        for _ in range(5):
            time.sleep(0.02)
            with pytest.raises((AccessDenied, BadSnapshot)):
                session.table("hr.dept")


def test_what_was_taken_is_taken_when_the_snapshot_ages(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    with guarded(refresh=0.05):
        frame = session.sql(EMP)
        console.says("", revision=8)
        time.sleep(0.1)
        with pytest.raises(AccessDenied):
            session.sql(EMP)
        with pytest.raises(AccessDenied):
            frame.count()  # is analysed again


def test_what_was_used_is_told_once(console: Console, session: Any, guarded: Callable[..., Guard]) -> None:
    console.says(READER + "allow SELECT_TABLE table lake.hr.dept")
    with guarded(run="nightly-1"):
        session.sql(EMP).collect()
        session.sql(EMP).collect()
        session.table("hr.dept")  # looked at, never run
        with pytest.raises(AccessDenied):
            session.table("hr.part")
    (report,) = console.reports
    assert (report["realm"], report["run"]) == ("demo", "nightly-1")
    assert uses(report) == {
        ("read", "table:demo/lake.hr.emp", True),
        ("read", "table:demo/lake.hr.dept", False),
    }
    assert {use["principal"] for use in report["uses"]} == {"user:ana"}


def test_a_job_that_fails_tells_too(console: Console, session: Any, guarded: Callable[..., Guard]) -> None:
    from pyspark.sql.functions import col, udf

    broken = udf(lambda value: 1 // 0, "int")
    console.says(READER)
    with pytest.raises(Exception, match="ZeroDivisionError"), guarded():
        session.table("hr.emp").select(broken(col("name"))).collect()
    (report,) = console.reports
    assert uses(report) == {("read", "table:demo/lake.hr.emp", True)}


def test_reports_wait_on_disk_until_the_console_takes_them(
    console: Console, session: Any, guarded: Callable[..., Guard], tmp_path: Path
) -> None:
    console.says(READER)
    console.uses = answer({}, 503)
    with guarded(run="first"):
        session.sql(EMP).collect()
    (waiting,) = (tmp_path / "spool").iterdir()
    assert json.loads(waiting.read_text())["run"] == "first"
    console.uses, console.asked[:] = answer({}, 202), []
    with guarded(run="second"):
        session.sql(EMP).collect()
    assert [report["run"] for report in console.reports] == ["first", "second"]
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_the_console_never_takes_is_not_kept(
    console: Console, session: Any, guarded: Callable[..., Guard], tmp_path: Path
) -> None:
    console.says(READER)
    console.uses = answer({"title": "what is this"}, 400)
    with guarded():
        session.sql(EMP).collect()
    assert not (tmp_path / "spool").exists()


def test_each_guard_of_an_application_is_a_run(
    console: Console, session: Any, guarded: Callable[..., Guard]
) -> None:
    console.says(READER)
    for _ in range(2):
        with guarded():
            session.sql(EMP).collect()
    first, second = (report["run"] for report in console.reports)
    assert first.startswith(session.sparkContext.applicationId)
    assert second != first


def test_a_plan_takes_few_calls_to_java(plain: Any, session: Any) -> None:
    from py4j.protocol import MEMORY_COMMAND_NAME

    from lakewarden.testing import guarded as offline

    tables = (
        "hr.emp a JOIN hr.dept b ON a.dept = b.id JOIN hr.part c ON c.id = a.id JOIN hr.emp d ON d.id = a.id"
    )
    query = f"SELECT a.name FROM {tables} JOIN hr.hv e ON e.id = a.id WHERE a.id > 0"
    with offline(session, "owner metalake demo", catalogs=CATALOGS) as made:
        execution = session.sql(query)._jdf.queryExecution()
        plan, java = execution.analyzed(), session._jsparkSession
        nodes = len(plan.treeString().strip().splitlines())
        client, calls = plain.sparkContext._gateway._gateway_client, []
        real = client.send_command

        def counted(command: str, *args: Any, **kwargs: Any) -> Any:
            if not command.startswith(
                MEMORY_COMMAND_NAME
            ):  # what other tests left behind is let go of meanwhile
                calls.append(command)
            return real(command, *args, **kwargs)

        client.send_command = counted
        try:
            made.watching.look(java, plan)
        finally:
            client.send_command = real
    assert nodes >= 11
    assert nodes < len(calls) <= 15 * nodes
