"""A refused stream into files leaves what lies there as readable as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import Program
from tests.spark.test_programs import READER


@pytest.fixture
def folder(plain: Any, tmp_path: Path) -> Path:
    plain.range(3).write.parquet(str(tmp_path / "files"))
    return tmp_path / "files"


def start(program: Program, target: Path, checkpoint: Path) -> None:
    rates = program.spark.readStream.format("rate").load().writeStream.format("parquet")
    rates.option("checkpointLocation", str(checkpoint)).start(str(target)).stop()


def test_the_folder_shows_what_it_showed(program: Program, plain: Any, folder: Path) -> None:
    program.may(READER)
    with pytest.raises(AccessDenied):
        start(program, folder, folder.parent / "checkpoint")
    assert not (folder / "_spark_metadata").exists()
    assert plain.read.schema("id BIGINT").parquet(str(folder)).count() == 3


@pytest.mark.parametrize("inside", ["", "below"])
def test_a_checkpoint_does_not_pass_for_the_log(
    program: Program, plain: Any, folder: Path, inside: str
) -> None:
    program.may(READER)
    with pytest.raises(AccessDenied):
        start(program, folder.parent / "target", folder / "_spark_metadata" / inside)
    assert plain.read.schema("id BIGINT").parquet(str(folder)).count() == 3


def test_a_log_with_something_in_it_stays(program: Program, plain: Any, folder: Path) -> None:
    target = folder.parent / "streamed"
    spark = program.may(f"owner metalake demo\nplace {folder.parent} fileset fs.area.all")
    stream = spark.readStream.schema("id BIGINT").parquet(str(folder)).writeStream.format("parquet")
    begun = stream.option("checkpointLocation", str(folder.parent / "own")).start(str(target))
    begun.processAllAvailable()
    begun.stop()
    log = sorted(file.name for file in (target / "_spark_metadata").iterdir())
    program.may(READER)
    with pytest.raises(AccessDenied):
        start(program, target, folder.parent / "checkpoint")
    assert sorted(file.name for file in (target / "_spark_metadata").iterdir()) == log != []
    assert plain.read.schema("id BIGINT").parquet(str(target)).count() == 3


def test_without_the_console_it_is_taken_away_too(
    program: Program, plain: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = program.may(READER)
    rates = spark.readStream.format("rate").load().writeStream.format("parquet")
    stream = rates.option("checkpointLocation", str(folder.parent / "checkpoint"))

    def away() -> Any:
        raise PermissionError("no facts to go by")

    monkeypatch.setattr(program, "current", away)
    with pytest.raises(Exception, match="no facts to go by"):
        stream.start(str(folder))
    monkeypatch.undo()
    assert plain.read.schema("id BIGINT").parquet(str(folder)).count() == 3


def test_a_stream_into_memory_runs_for_whoever_may_read(program: Program, plain: Any, folder: Path) -> None:
    spark = program.may(f"owner metalake demo\nplace {folder.parent} fileset fs.area.all")
    rows = spark.readStream.schema("id BIGINT").parquet(str(folder))
    query = rows.writeStream.format("memory").queryName("streamed").start()
    query.processAllAvailable()
    query.stop()
    assert query.exception() is None
    assert query.lastProgress["numInputRows"] == 3
