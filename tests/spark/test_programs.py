"""What is no SQL text: readers, writers, streams, the catalog, scripts, threads, other sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import DERBY, Program
from tests.spark.test_statements import EVERYTHING, asked

READER = """
allow USE_CATALOG  catalog lake
allow USE_SCHEMA   schema  lake.hr
allow SELECT_TABLE table   lake.hr.emp
"""
ENTER = "allow USE_CATALOG catalog lake\nallow USE_SCHEMA schema lake.hr"
EMP, DEPT, FILES = "read table:lake.hr.emp", "read table:lake.hr.dept", "fileset:lake.hr.files"


@pytest.fixture(scope="module")
def files(plain: Any, place: Path) -> Path:
    folder = place / "program-files"
    plain.range(3).write.parquet(str(folder / "numbers"))
    plain.range(3).write.json(str(folder / "lines"))
    return folder


@pytest.fixture
def stranger(program: Program, files: Path) -> Any:
    return program.may(f"place {files} fileset lake.hr.files")


@pytest.fixture
def owner(program: Program, files: Path) -> Any:
    return program.may(f"{EVERYTHING}\nplace {files} fileset lake.hr.files")


def refused(deed: Callable[[], Any]) -> set[str]:
    with pytest.raises(AccessDenied) as error:
        deed()
    return asked(error.value)


def test_readers_of_files(stranger: Any, files: Path) -> None:
    numbers, lines = str(files / "numbers"), str(files / "lines")
    assert refused(lambda: stranger.read.parquet(numbers)) == {f"read {FILES}"}
    assert refused(lambda: stranger.read.text(lines)) == {f"read {FILES}"}
    assert refused(lambda: stranger.read.schema("id INT").json(lines)) == {f"read {FILES}"}
    assert refused(lambda: stranger.read.json(lines)) == {f"read {FILES}"}


def test_a_source_that_is_no_catalog_is_refused_without_its_password(owner: Any) -> None:
    url = "jdbc:derby:memory:pg;create=true;password=secret"
    reader = owner.read.format("jdbc").options(
        url=url, driver=DERBY, query="SELECT 1 AS a FROM SYSIBM.SYSDUMMY1"
    )
    with pytest.raises(AccessDenied, match="jdbc:derby:memory:pg") as error:
        reader.load()
    assert "secret" not in str(error.value)


def test_writers(stranger: Any, program: Program, files: Path) -> None:
    out = str(files / "out")
    program.may(f"{READER}\nplace {files} fileset lake.hr.files")
    emp = stranger.table("hr.emp")
    assert refused(lambda: emp.write.parquet(out)) == {f"write {FILES}"}
    assert refused(lambda: emp.write.saveAsTable("hr.w30")) == {"create_table schema:lake.hr"}
    assert refused(lambda: emp.writeTo("hr.w31").create()) == {"create_table schema:lake.hr"}
    assert refused(lambda: emp.write.insertInto("hr.emp")) == {"write table:lake.hr.emp"}
    emp.write.format("noop").mode("overwrite").save()
    assert not (files / "out").exists()


def test_writers_that_may(owner: Any, program: Program, files: Path) -> None:
    emp = owner.table("hr.emp")
    emp.write.parquet(str(files / "mine"))
    emp.write.saveAsTable("hr.mine30")
    emp.write.mode("append").saveAsTable("hr.mine30")
    emp.write.mode("overwrite").saveAsTable("hr.mine30")
    emp.writeTo("hr.mine31").using("parquet").create()
    emp.write.insertInto("hr.mine31")
    assert owner.table("hr.mine30").count() == 2
    assert owner.table("hr.mine31").count() == 4
    assert program.used(executed=True) >= {
        f"write {FILES}",
        "create_table schema:lake.hr",
        "write table:lake.hr.mine30",
        "write table:lake.hr.mine31",
    }


def test_the_folder_of_a_table_is_a_path_like_any_other(program: Program, place: Path) -> None:
    spark = program.may(READER)
    folder = place / "warehouse" / "hr.db" / "emp"
    assert spark.table("hr.emp").count() == 2
    with pytest.raises(AccessDenied, match="not in a fileset or table"):
        spark.read.parquet(str(folder))
    with pytest.raises(AccessDenied, match="not in a fileset or table"):
        spark.range(1).write.mode("append").parquet(str(folder))
    program.may(f"{READER}\nplace {folder} table lake.hr.emp")
    assert spark.read.parquet(str(folder)).count() == 2


def test_a_table_made_once_does_not_open_its_folder(program: Program, place: Path) -> None:
    spark = program.may(f"{READER}\nallow CREATE_TABLE schema lake.hr")
    spark.table("hr.emp").write.saveAsTable("hr.once")
    with pytest.raises(AccessDenied, match="not in a fileset or table"):
        spark.range(1).write.mode("append").parquet(str(place / "warehouse" / "hr.db" / "once"))


def test_replacing_a_table_takes_dropping_it_too(program: Program, plain: Any) -> None:
    spark = program.may(READER)
    plain.sql("CREATE TABLE pg.sales.r27 (id INT)")
    deed = "REPLACE TABLE pg.sales.r27 AS SELECT id FROM hr.emp"
    assert refused(lambda: spark.sql(deed)) == {"drop table:pg.sales.r27", "create_table schema:pg.sales"}


def test_views_of_the_session_count_for_nothing(program: Program) -> None:
    spark = program.may(EVERYTHING)
    spark.table("hr.emp").createOrReplaceTempView("mine")
    spark.table("hr.emp").createGlobalTempView("everybodys")
    program.may("")
    assert refused(lambda: spark.table("mine").collect()) == {EMP}
    assert refused(lambda: spark.table("global_temp.everybodys").collect()) == {EMP}
    program.may(READER)
    assert spark.table("mine").count() == 2
    spark.catalog.dropGlobalTempView("everybodys")


def test_a_temporary_view_from_before_the_guard(plain: Any, program: Program) -> None:
    # the guarded session is a copy of the one it was made in, with its temporary views
    spark = program.may("")
    assert refused(lambda: spark.sql("SELECT * FROM old_view").collect()) == {EMP}


def test_a_view_is_read_by_its_own_right_where_the_law_knows_views(program: Program) -> None:
    spark = program.may(f"{ENTER}\nallow SELECT_VIEW view lake.hr.v2")
    assert spark.table("hr.v2").count() == 2
    assert program.used(executed=True) == {"read view:lake.hr.v2"}
    assert refused(lambda: spark.table("hr.v_emp")) == {"read view:lake.hr.v_emp"}


def test_a_view_takes_its_tables_where_the_law_knows_none(program: Program) -> None:
    herd = {"realm": "herd", "dialect": "herd"}
    with program.standing_for({"spark_catalog": "herd/HR"}, "herd"):
        spark = program.may("allow READ namespace HR", **herd)
        assert spark.table("hr.v2").count() == 2
        assert refused(lambda: spark.sql("INSERT INTO hr.dept VALUES (1, 'x')")) == {"write namespace:HR"}
        program.may("", **herd)
        assert refused(lambda: spark.table("hr.v2")) == {"read namespace:HR"}


def test_tables_are_datasets_where_the_law_is_cdaps(program: Program) -> None:
    cdap = {"realm": "cdap", "dialect": "cdap43"}
    with program.standing_for({"spark_catalog": "cdap/ns1"}, "cdap"):
        spark = program.may("allow READ dataset ns1.e*", **cdap)
        assert spark.table("hr.v_emp").count() == 2
        with pytest.raises(AccessDenied, match=r"lacks READ on dataset ns1\.dept"):
            spark.table("hr.dept")
        assert refused(lambda: spark.sql("INSERT INTO hr.emp SELECT 1, 'x', 1")) == {"write dataset:ns1.emp"}
        assert refused(lambda: spark.sql("CREATE TABLE hr.n (a INT) USING parquet")) == {
            "create_dataset dataset:ns1.n"
        }


def test_the_catalog(program: Program) -> None:
    spark = program.may(READER)
    assert {table.name for table in spark.catalog.listTables("hr")} >= {"emp", "dept"}
    assert spark.catalog.tableExists("hr.emp")
    assert [column.name for column in spark.catalog.listColumns("hr.emp")] == ["id", "name", "dept"]
    assert refused(lambda: spark.catalog.listColumns("hr.dept")) == {DEPT}
    assert refused(lambda: spark.catalog.getTable("hr.dept")) == {DEPT}


def test_explaining_is_refused_plainly(program: Program) -> None:
    spark = program.may("")
    with pytest.raises(AccessDenied) as error:
        spark.sql("EXPLAIN SELECT * FROM hr.emp").collect()
    assert not any(word in str(error.value) for word in ("Traceback", ".py", "FileScan"))
    assert refused(lambda: spark.table("hr.emp").explain()) == {EMP}


def test_a_script_runs_as_far_as_it_may(program: Program, since: Callable[[str], None]) -> None:
    since("4.0")
    spark = program.may(READER)
    script = "BEGIN SELECT name FROM hr.emp; DROP TABLE hr.dept; END"
    assert refused(lambda: spark.sql(script)) == {"drop table:lake.hr.dept"}
    assert spark.catalog.tableExists("hr.emp")


def test_other_sessions_and_threads(program: Program) -> None:
    spark = program.may("")
    names: list[set[str]] = []
    thread = threading.Thread(target=lambda: names.append(refused(lambda: spark.table("hr.emp"))))
    thread.start()
    thread.join()
    assert names == [{EMP}]
    assert refused(lambda: spark.newSession().table("hr.emp")) == {EMP}
    from pyspark.sql import SparkSession

    assert refused(lambda: SparkSession.builder.getOrCreate().table("hr.emp")) == {EMP}


def test_what_is_in_memory_is_no_way_round(program: Program) -> None:
    spark = program.may(READER)
    spark.table("hr.emp").cache().count()
    program.may("")
    assert refused(lambda: spark.table("hr.emp").collect()) == {EMP}
    program.may(READER)
    spark.table("hr.emp").unpersist()


def test_rights_to_write_alone_are_enough_to_write(program: Program) -> None:
    spark = program.may(f"{ENTER}\nowner table lake.hr.part")
    spark.sql("INSERT OVERWRITE hr.part PARTITION (d = 7) SELECT 1")
    spark.sql("ALTER TABLE hr.part DROP PARTITION (d = 7)")


@pytest.fixture
def stream_end() -> Iterator[list[Any]]:
    running: list[Any] = []
    yield running
    for query in running:
        query.stop()


def test_streams_are_checked_when_they_start_and_in_each_batch(
    program: Program, files: Path, stream_end: list[Any]
) -> None:
    place = f"place {files} fileset lake.hr.files"
    spark = program.may(place)

    def read() -> Any:
        return spark.readStream.schema("id INT").json(str(files / "lines"))

    def start(sink: str) -> Any:
        writer = read().writeStream.option("checkpointLocation", str(files / "notes")).format(sink)
        stream_end.append(writer.start(str(files / "streamed")) if sink == "parquet" else writer.start())
        return stream_end[-1]

    assert refused(read) == {f"read {FILES}"}
    program.may(f"{place}\n{ENTER}\nallow READ_FILESET {FILES.replace(':', ' ')}")
    assert refused(lambda: start("parquet")) == {f"write {FILES}"}
    program.may(f"{ENTER}\nowner fileset lake.hr.files\n{place}")
    query = start("parquet")
    query.processAllAvailable()
    assert spark.read.parquet(str(files / "streamed")).count() == 3
    program.may(place)
    program.current()
    (files / "lines" / "more.json").write_text('{"id": 9}\n')
    with pytest.raises(Exception, match="access denied"):
        query.processAllAvailable()


def test_names_with_dots_and_quotes(program: Program, plain: Any, since: Callable[[str], None]) -> None:
    since("4.0")  # 3.5 cannot make such a table in Derby
    plain.sql('CREATE TABLE pg.sales.`odd "name".v1` (id INT)')
    spark = program.may("")
    deed = 'SELECT * FROM pg.sales.`odd "name".v1`'
    with pytest.raises(AccessDenied) as error:
        spark.sql(deed)
    (refusal,) = error.value.refusals
    assert refusal.question.resource.path == ("pg", "sales", 'odd "name".v1')
    program.may(
        f'{ENTER.replace("lake", "pg").replace("hr", "sales")}\nowner table pg.sales."odd ""name"".v1"'
    )
    assert spark.sql(deed).count() == 0


def test_an_unmapped_catalog_is_refused_by_name(program: Program) -> None:
    spark = program.may(EVERYTHING)
    with program.standing_for({"spark_catalog": "demo/lake"}, "demo"):
        named = r"catalog pg is not mapped to a governed catalog; set spark\.lakewarden\.catalog\.pg"
        with pytest.raises(AccessDenied, match=named):
            spark.sql("SELECT * FROM pg.sales.orders")


def test_a_catalog_that_a_program_sets_up_is_refused_before_it_connects(
    program: Program, since: Callable[[str], None]
) -> None:
    since("4.0")
    spark, url = program.may(EVERYTHING).newSession(), "jdbc:derby:memory:stray"
    catalog = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    spark.conf.set("spark.sql.catalog.stray", catalog)
    spark.conf.set("spark.sql.catalog.stray.url", f"{url};create=true")
    spark.conf.set("spark.sql.catalog.stray.driver", DERBY)
    for deed in ("SELECT * FROM stray.sales.orders", "SHOW TABLES IN stray.sales", "USE stray.sales"):
        with pytest.raises(AccessDenied, match=r"with the setting spark\.sql\.catalog\.stray"):
            spark.sql(deed)
    with pytest.raises(Exception, match=r"(?i)not found|couldn't connect"):  # the database was not made
        program.plain.read.format("jdbc").options(url=url, driver=DERBY, query="VALUES 1").load()


def test_every_lack_of_a_statement_is_named_at_once(program: Program) -> None:
    spark = program.may("")
    with pytest.raises(AccessDenied) as error:
        spark.sql("INSERT INTO hr.part SELECT id, dept FROM hr.emp WHERE dept IN (SELECT id FROM hr.dept)")
    text = str(error.value)
    assert text.startswith("access denied: 3 of 3 refused, nothing was read")
    assert "lacks SELECT_TABLE on table demo/lake.hr.dept" in text
    assert (
        "http://console/requests/new?resource=demo%2Flake.hr.emp&type=table&action=read&for=user%3Aana"
        in text
    )


def test_a_path_without_a_scheme_is_where_hadoop_has_it(program: Program) -> None:
    spark = program.may(f"{EVERYTHING}\nplace /data fileset lake.hr.files")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.defaultFS", "hdfs://nameserver")
    try:
        with pytest.raises(AccessDenied, match="may not read path hdfs://nameserver/data/a"):
            spark.sql("ADD FILE '/data/a'")
    finally:
        hadoop.set("fs.defaultFS", "file:///")


def test_a_path_does_not_open_a_source_that_goes_elsewhere(program: Program, files: Path) -> None:
    spark = program.may(f"{EVERYTHING}\nplace {files} fileset lake.hr.files")
    options = {"url": "jdbc:derby:memory:pg;create=true", "driver": DERBY, "dbtable": "t", "path": str(files)}
    with pytest.raises(AccessDenied, match=r"a write by .*JdbcRelationProvider"):
        spark.range(1).write.format("jdbc").options(**options).save()


def test_a_source_that_the_guard_does_not_know_is_refused_by_its_name(
    program: Program, since: Callable[[str], None]
) -> None:
    since("4.0")
    pytest.importorskip("pyarrow")
    from pyspark.sql.datasource import DataSource

    class Elsewhere(DataSource):
        @classmethod
        def name(cls) -> str:
            return "elsewhere"

        def schema(self) -> str:
            return "id INT"

    spark = program.may(EVERYTHING)
    spark.dataSource.register(Elsewhere)
    with pytest.raises(AccessDenied, match="user:ana may not run format elsewhere"):
        spark.read.format("elsewhere").load()


@pytest.mark.parametrize("sensitive", ["false", "true"])
def test_a_denial_is_found_however_the_console_or_the_program_spells_the_name(
    program: Program, sensitive: str
) -> None:
    """Spark keeps this table as hr.emp; a Derby behind a catalog would keep each spelling for itself."""
    open_schema = "allow USE_CATALOG catalog lake\nallow USE_SCHEMA schema lake.hr\n"
    denied = f"{open_schema}allow SELECT_TABLE schema lake.hr\ndeny SELECT_TABLE table lake.HR.Emp"
    for facts in (denied, denied.replace("HR.Emp", "hr.EMP")):
        spark = program.may(facts)
        spark.conf.set("spark.sql.caseSensitive", sensitive)
        try:
            for name in ("hr.emp", "HR.EMP", "hr.Emp", "`hr`.`eMP`"):
                with pytest.raises(AccessDenied):
                    spark.table(name)
            assert spark.table("hr.dept").count() == program.plain.table("hr.dept").count() > 0
        finally:
            spark.conf.unset("spark.sql.caseSensitive")


def test_what_is_granted_in_the_consoles_spelling_is_granted(program: Program) -> None:
    facts = READER.replace("lake.hr", "lake.HR").replace("HR.emp", "HR.Emp")
    assert program.may(facts).table("hr.emp").count() == 2
    assert program.used() == {"read table:lake.HR.Emp"}
    with pytest.raises(AccessDenied):
        program.may(facts).table("hr.dept")


def test_a_catalog_of_its_own_may_tell_spellings_apart(program: Program) -> None:
    way = "allow USE_CATALOG catalog pg\nallow USE_SCHEMA schema pg.sales\n"
    assert program.may(f"{way}allow SELECT_TABLE table pg.sales.orders").table("pg.sales.orders") is not None
    for other in ("allow SELECT_TABLE table pg.sales.Orders", "deny SELECT_TABLE table pg.sales.ORDERS"):
        with pytest.raises(AccessDenied):
            program.may(f"{way}allow SELECT_TABLE table pg.sales.Orders\n{other}").table("pg.sales.orders")
