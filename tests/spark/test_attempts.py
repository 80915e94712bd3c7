"""Every line of hostile.toml in a guarded session; by the slow tests the same without a guard, too."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.attempts import (
    DRIVER,
    FACTS,
    HIVE,
    OLDER,
    Attempt,
    Outcome,
    attempts,
    build,
    changes,
    filled,
    out_of_reach,
    ran,
    state,
    stays,
    twin,
)
from tests.spark.conftest import Program, active
from tests.spark.test_hostile import PASSES

ALL = attempts()
DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"


class World:
    """The world, the session without a guard and the guarded one."""

    def __init__(self, plain: Any, base: Path, house: Path) -> None:
        self.base, self.places = (
            base,
            {
                "@base": str(base),
                "@house": str(house),
                "@url": "jdbc:derby:memory:pg",
                "@driver": DRIVER,
            },
        )
        self.version = tuple(map(int, plain.version.split(".")[:2]))
        self.free = plain.newSession()
        build(self.free.sql, base, self.places, functions=self.version >= (4, 0))
        for statement in OLDER:
            plain.sql(statement)
        self.before = state(self.free.sql, base)
        self.program = Program(plain)
        self.facts = filled(FACTS, self.places)
        self.other = base.with_name(f"{base.name}-twin")

    def attempt(self, attempt: Attempt, number: int) -> Outcome:
        from pyspark.sql import functions

        spark = self.program.may(self.facts)
        try:
            # tests of other files, in the same process, may have left another session active
            with active(spark, spark), contextlib.redirect_stdout(io.StringIO()) as printed:
                outcome = ran(spark, filled(attempt.text, self.places, f"_a{number}"), functions)
            return Outcome(outcome.shown + printed.getvalue(), outcome.error)
        finally:
            if stays(attempt.text):
                self._as_before(spark)

    def control(self, attempt: Attempt, number: int) -> Outcome:
        from pyspark.sql import functions

        session = self.free
        self.program.may("owner metalake demo")  # sessions that begin now are guarded, and may do everything
        text = filled(attempt.text, self.places, f"_c{number}")
        if attempt.control == "analyses":
            return self._analysed(session, text)
        if attempt.control == "twin":
            session, text = self.second(), twin(attempt.text, self.places, self.other, f"_t{number}")
        if any(word in text for word in ("old_secret", "hx_kept", "hx_old")):
            session = self.program.plain
        with active(session, self.program.spark), contextlib.redirect_stdout(io.StringIO()) as printed:
            outcome = ran(session, text, functions)
        if stays(attempt.text):
            self._as_before(session)
        return Outcome(outcome.shown + printed.getvalue(), outcome.error)

    def _as_before(self, session: Any) -> None:
        self.program.may("owner metalake demo")
        session.sql("RESET")
        session.sql("USE spark_catalog.default")

    def second(self) -> Any:
        """The session without a guard, with a second world in it that may change.

        The batches of its streams run in sessions that began under the guard: they may do everything.
        """
        self.program.may(f"owner metalake demo\nplace {self.other} fileset fs.area.twin")
        if not self.other.exists():
            self.other.mkdir()
            build(
                lambda statement: self.free.sql(twin(statement, self.places, self.other)),
                self.other,
                {},
                functions=False,
            )
            self.free.sql(twin(HIVE, self.places, self.other))
        return self.free

    def _analysed(self, session: Any, text: str) -> Outcome:
        state_ = session._jsparkSession.sessionState()
        try:
            state_.analyzer().execute(state_.sqlParser().parsePlan(text)).treeString()
        except Exception as error:  # noqa: BLE001 - what came of it
            return Outcome("", error)
        return Outcome("", None)


@pytest.fixture(scope="module")
def world(plain: Any, place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(plain, tmp_path_factory.mktemp("hx"), place / "warehouse")
    with made.program.guard:
        yield made


def test_there_are_enough_of_them_and_each_says_why() -> None:
    assert len({item.text for item in ALL}) == len(ALL) >= 200
    assert {item.expected for item in ALL} == {"refused", "filtered", "harmless"}
    assert {item.control for item in ALL} == {"shows", "runs", "analyses", "twin", "none"}
    assert all(item.why and item.uses for item in ALL)


@pytest.mark.timeout(900)  # hundreds of statements, one after the other
@pytest.mark.parametrize(
    "controls",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["guarded", "guarded and without a guard"],
)
def test_each_comes_to_what_the_table_says(world: World, controls: bool) -> None:
    """With controls the table itself is tested: what an attempt comes to where no guard stands in its way."""
    wrong, counted = [], Counter[str]()
    for number, attempt in enumerate(ALL, len(ALL) if controls else 0):
        if attempt.only_remote or world.version < tuple(map(int, attempt.since.split("."))):
            continue
        outcome = world.attempt(attempt, number)
        trouble = _trouble(attempt, outcome)
        if controls and not trouble and attempt.control != "none":
            trouble = _worthless(attempt, world.control(attempt, number))
        counted[attempt.expected] += 1
        if trouble:
            wrong.append(f"{number} {attempt.text}\n    {trouble}")
    assert not wrong, f"{len(wrong)} of {counted.total()}:\n" + "\n".join(wrong)
    assert counted.total() >= 200


def test_nothing_was_written_meanwhile(world: World) -> None:
    assert changes(world.before, state(world.free.sql, world.base), world.base, controls=True) == set()


def _trouble(attempt: Attempt, outcome: Outcome) -> str:
    """What an attempt came to that it must not; nothing when all is well."""
    ended = " ".join(str(outcome.error).split())[:300] if outcome.error else "it ran"
    if outcome.leaked:
        return f"it showed what is hidden: {outcome.shown[:200]} {ended}"
    if attempt.expected == "refused" and not isinstance(outcome.error, AccessDenied):
        return f"not refused by the guard: {type(outcome.error).__name__} {ended}"
    if attempt.expected == "filtered" and (outcome.error or not outcome.shown):
        return f"it should have run: {ended}"
    return ""


def _worthless(attempt: Attempt, control: Outcome) -> str:
    """Why an attempt proves nothing: it does no more without a guard."""
    if control.error is not None:
        return f"without a guard: {' '.join(str(control.error).split())[:300]}"
    return "without a guard it shows nothing" if attempt.control == "shows" and not control.leaked else ""


def test_what_stays_out_of_reach_is_said_in_the_same_words() -> None:
    lines = out_of_reach()
    assert sorted(lines) == sorted(PASSES)
    for name in ("threat-model.md", "spark.md"):
        page_text = " ".join((DOCUMENTS / name).read_text().split())
        assert [line for line in lines if line not in page_text] == []
