"""What a guard in the job's own process cannot stop.  docs/spark.md says so, word for word.

A test that fails here because something is refused is good news: move the line in the documentation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import Program
from tests.spark.test_programs import READER

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
SENTENCE = (
    "In the same process the guard stops mistakes and records intent; against a program that means to get "
    "round it, only storage permissions (and a separate Connect server) protect."
)
PASSES: dict[str, Callable[[Program, Any, Path], int]] = {}


def passes(line: str) -> Callable[[Callable[[Program, Any, Path], int]], Callable[[Program, Any, Path], int]]:
    def keep(deed: Callable[[Program, Any, Path], int]) -> Callable[[Program, Any, Path], int]:
        PASSES[line] = deed
        return deed

    return keep


@passes("A DataFrame made before the guard: it belongs to the session before, which no rule looks at.")
def made_before(program: Program, plain: Any, folder: Path) -> int:
    return int(plain.table("hr.emp").where("id > 0").count())


@passes(
    "A DataFrame analysed before a right was taken: `collect`, `toPandas`, `rdd` and `toLocalIterator` "
    "ask no more."
)
def analysed_before(program: Program, plain: Any, folder: Path) -> int:
    frame = program.may(READER).table("hr.emp")
    program.may("")
    return len(frame.collect()) + frame.rdd.count() - len(list(frame.toLocalIterator()))


@passes("`sc.textFile`, `sc.binaryFiles` and Hadoop's `FileSystem`: they read files without a plan.")
def plain_files(program: Program, plain: Any, folder: Path) -> int:
    context = program.spark.sparkContext
    return int(context.binaryFiles(str(folder)).count() and context.textFile(str(folder)).count() and 2)


@passes(
    "A model of Spark ML that is saved with `overwrite`: what stood in its place is deleted without a plan, "
    "and Spark 3.5 writes the model without one, too."
)
def model_saved(program: Program, plain: Any, folder: Path) -> int:
    stood = folder.parent / "stood"
    stood.mkdir()
    (stood / "there").write_text("before")
    model = program.spark._jvm.org.apache.spark.ml.feature.Tokenizer()
    with contextlib.suppress(AccessDenied):
        model.write().overwrite().save(str(stood))
    return 0 if (stood / "there").exists() else 2


@passes("Python's own `open`, in the driver or in a function that Spark runs.")
def python_open(program: Program, plain: Any, folder: Path) -> int:
    (part, *_) = sorted(folder.glob("*.parquet"))
    inside = program.spark.sparkContext.parallelize([str(part)]).map(
        lambda name: len(Path(name).read_bytes())
    )
    return 2 if inside.sum() == len(part.read_bytes()) > 0 else 0


@passes("The session before the guard, kept in a variable, or Spark's catalog behind it.")
def kept_session(program: Program, plain: Any, folder: Path) -> int:
    state = program.spark._jsparkSession.sharedState()
    assert state.externalCatalog().getTable("hr", "emp").identifier().table() == "emp"
    return int(plain._jsparkSession.table("hr.emp").count())


@passes("A program that takes the guard out: it can do what the guard did.")
def taken_out(program: Program, plain: Any, folder: Path) -> int:
    from lakewarden.spark import analyzer_rule

    spark, watching = program.spark, program.guard.watching
    guarded = spark._jsparkSession
    analyzer_rule.take(spark, watching)
    try:
        analyzer_rule.switch(spark, plain._jsparkSession)
        return int(spark.table("hr.emp").count())
    finally:
        analyzer_rule.switch(spark, guarded)
        analyzer_rule.put(spark, watching)


@passes(
    "A statement that Spark cannot resolve (a wrong column, no such target): Spark's own error comes first, "
    "and names columns."
)
def wrong_column(program: Program, plain: Any, folder: Path) -> int:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="`name`"):
        program.spark.sql("SELECT nam FROM hr.emp")
    return 2


@passes(
    "`spark.read.parquet` and `orc` of a path, without a schema: refused, but Spark has looked up the "
    "columns in the files by then."
)
def inference(program: Program, plain: Any, folder: Path) -> int:
    before = _jobs(plain)
    with pytest.raises(AccessDenied):
        program.spark.read.parquet(str(folder))
    return 2 if _jobs(plain) > before else 0


@passes(
    "In Spark 3.5, a source of `spark.read.format` that is no format of files: Spark looks it up and asks "
    "it for its columns before the refusal; `jdbc` is refused before it connects, but the class of its "
    "driver is loaded, and a catalog that a program sets up is started."
)
def looked_up(program: Program, plain: Any, folder: Path) -> int:
    with pytest.raises(Exception) as error:  # Spark's own, when it has looked for the class
        program.spark.read.format("org.example.NoSuchSource").load()
    keeps_sources = plain.version >= "4"
    return 2 if isinstance(error.value, AccessDenied) is keeps_sources else 0


@passes(
    "A stream into files that Spark refuses before the guard sees it, such as one without a checkpoint: it "
    "leaves an empty folder `_spark_metadata` where it would write, and whoever reads that folder finds "
    "nothing until it is removed."
)
def stream_without_checkpoint(program: Program, plain: Any, folder: Path) -> int:
    from pyspark.errors import AnalysisException

    target = folder.parent.parent / "stream-blind"
    plain.range(2).write.parquet(str(target))
    rates = program.spark.readStream.format("rate").load().writeStream.format("parquet")
    with pytest.raises(AnalysisException, match="checkpointLocation"):
        rates.start(str(target))
    blind = plain.read.schema("id BIGINT").parquet(str(target)).count()
    (target / "_spark_metadata").rmdir()
    return int(plain.read.parquet(str(target)).count()) - blind


@passes(
    "A stream that the guard refuses: by then Spark has made the folders that it would write to and keep its "
    "checkpoint in, empty."
)
def stream_folders(program: Program, plain: Any, folder: Path) -> int:
    target = folder.parent.parent / "stream-target"
    rates = program.spark.readStream.format("rate").load().writeStream.format("parquet")
    with pytest.raises(AccessDenied):
        rates.option("checkpointLocation", f"{target}-notes").start(str(target))
    made = [target, target.with_name(f"{target.name}-notes")]
    return sum(path.is_dir() and not any(path.iterdir()) for path in made)


def _jobs(plain: Any) -> int:
    return int(plain.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


@pytest.mark.parametrize("line", PASSES, ids=[deed.__name__ for deed in PASSES.values()])
def test_what_passes_is_written_down(program: Program, plain: Any, place: Path, line: str) -> None:
    assert line in " ".join(DOCUMENT.read_text().split())
    program.may("")
    with pytest.raises(AccessDenied):
        program.spark.table("hr.emp")
    assert PASSES[line](program, plain, place / "warehouse" / "hr.db" / "emp") == 2


def test_the_sentence_and_what_storage_must_do_are_written_down() -> None:
    assert SENTENCE in " ".join(DOCUMENT.read_text().split())


def test_lines_are_not_looked_at_before_they_are_refused(program: Program, plain: Any, place: Path) -> None:
    lines = str(place / "hostile-lines")
    plain.range(2).write.json(lines)
    program.may("")
    before = _jobs(plain)
    for read in (program.spark.read.json, program.spark.read.csv):
        with pytest.raises(AccessDenied):
            read(lines)
    assert _jobs(plain) == before
