"""Not the name decides but what would be opened: options, places, connectors, links and settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import DERBY, Program, active
from tests.spark.test_programs import refused
from tests.spark.test_statements import EVERYTHING

ORDERS = """
allow USE_CATALOG  catalog pg
allow USE_SCHEMA   schema  pg.sales
owner              table   pg.sales.orders
"""
SCRATCH = """
allow USE_CATALOG   catalog lake
allow CREATE_SCHEMA catalog lake
owner               schema  lake.hr
allow USE_SCHEMA    schema  lake.fs
allow READ_FILESET  fileset lake.fs.zone
owner               fileset lake.hr.drop
"""
URL = "jdbc:derby:memory:pg;create=true"
LEADING = {
    "dbtable": '(select "ID", "TOTAL" from "sales"."secret") x',
    "DBTABLE": "sales.secret",
    "query": "select 1 from sysibm.sysdummy1",
    "url": "jdbc:derby:memory:other;create=true",
    "driver": DERBY,
    "sessionInitStatement": "insert into sales.orders values (1, 1)",
    "prepareQuery": "with x as (select 1)",
    "createTableOptions": "x",
    "createTableColumnTypes": "id INT",
    "connectionProvider": "basic",
    "hint": "/*+ x */",
    "user": "somebody",
    "keytab": "/etc/keys",
    "cascadeTruncate": "true",
    "ssl.factory": "org.example.Code",
    "compression": "org.example.Codec",
}


@pytest.fixture(scope="module")
def zone(plain: Any, place: Path) -> Path:
    """A zone open to the user with a table in it that is not, and a folder of the user's own."""
    folder = place / "openings"
    for name, number in (("zone/open", 1), ("zone/closed", 666), ("drop/mine", 2)):
        plain.range(number, number + 1).write.parquet(str(folder / name))
    plain.sql("CREATE TABLE hr.outside (id BIGINT) USING parquet")
    return folder


def facts(zone: Path, more: str = "") -> str:
    return f"""{SCRATCH}
place {zone}/zone        fileset lake.fs.zone
place {zone}/zone/closed table   lake.other.closed
place {zone}/drop        fileset lake.hr.drop
{more}"""


@pytest.fixture
def ana(program: Program, zone: Path) -> Any:
    return program.may(facts(zone))


@pytest.mark.parametrize("option", LEADING)
def test_an_option_leads_no_table_of_a_database_elsewhere(program: Program, option: str) -> None:
    spark = program.may(ORDERS)
    before = program.plain.table("pg.sales.orders").count()  # others write there in the same process
    deeds: list[Callable[[], Any]] = [
        lambda: spark.read.option(option, LEADING[option]).table("pg.sales.orders").collect(),
        lambda: (
            spark.range(1)
            .selectExpr("1 id", "2 total")
            .writeTo("pg.sales.orders")
            .option(option, LEADING[option])
            .append()
        ),
    ]
    for deed in deeds:
        with pytest.raises(
            AccessDenied, match=rf"(?is)option {option} of .*it may open something other than the name says"
        ) as error:
            deed()
        assert LEADING[option] not in str(error.value).replace(f"option {option}", "").replace(
            "access denied: 1", ""
        )
    assert program.plain.table("pg.sales.orders").count() == before


def test_sql_gives_no_other_options_either(program: Program, since: Callable[[str], None]) -> None:
    since("4.0")
    spark = program.may(ORDERS)
    for deed in (
        "SELECT * FROM pg.sales.orders WITH (`dbTable` = 'sales.secret')",
        "SELECT * FROM (SELECT id FROM pg.sales.orders WITH (sessioninitstatement = 'values 1')) x",
        "INSERT INTO pg.sales.orders WITH (url = 'jdbc:derby:memory:x') VALUES (1, 2)",
    ):
        with pytest.raises(
            AccessDenied, match=r"(?s)option .*it may open something other than the name says"
        ):
            spark.sql(deed).collect()


def test_options_that_open_nothing_pass(program: Program, plain: Any, zone: Path) -> None:
    spark = program.may(f"{ORDERS}\n{facts(zone)}")
    reader = spark.read.option("fetchSize", "10").option("queryTimeout", "60")
    reader = reader.option("partitionColumn", "ID").option("numPartitions", 2)
    reader = reader.option("lowerBound", 0).option("upperBound", 9).option("pushDownLimit", "false")
    assert reader.table("pg.sales.orders").count() == plain.table("pg.sales.orders").count()
    mine = str(zone / "drop" / "words")
    words = spark.createDataFrame([("a", 1)], "word STRING, n INT")
    words.write.options(header=True, compression="gzip", sep=";").csv(mine)
    read = spark.read.options(header=True, sep=";", inferSchema=True, mode="FAILFAST", encoding="UTF-8").csv(
        mine
    )
    assert [tuple(row) for row in read.collect()] == [("a", 1)]


@pytest.mark.parametrize(
    "option",
    [
        "fs.defaultFS",
        "fs.file.impl",
        "fs.s3a.endpoint",
        "rowValidationXSDPath",
        "avroSchemaUrl",
        "cleanSource",
        "parquet.crypto.factory.class",
        "io.compression.codecs",
    ],
)
def test_an_option_leads_no_files_elsewhere(ana: Any, zone: Path, option: str) -> None:
    value = "file:///" if option == "fs.defaultFS" else "org.apache.hadoop.fs.RawLocalFileSystem"
    path = str(zone / "zone" / "open")
    with pytest.raises(AccessDenied, match=f"(?i)option {option} of "):
        ana.read.schema("id BIGINT").option(option, value).parquet(path).collect()
    with pytest.raises(AccessDenied, match=f"(?i)option {option} of "):
        ana.range(1).write.option(option, value).parquet(str(zone / "drop" / "never"))
    assert not (zone / "drop" / "never").exists()


def test_a_table_made_with_a_connector_is_refused_when_made_and_when_read(
    program: Program, plain: Any, zone: Path
) -> None:
    made = f"USING jdbc OPTIONS (url '{URL}', driver '{DERBY}', dbtable 'SYSIBM.SYSDUMMY1')"
    plain.sql(f"CREATE TABLE hr.before {made}")
    spark = program.may(f"{EVERYTHING}\n{facts(zone)}")
    for deed in (
        f"CREATE TABLE hr.now {made}",
        f"CREATE TABLE hr.now {made.replace('jdbc', 'org.apache.spark.sql.jdbc', 1)}",
        f"CREATE TEMPORARY VIEW now {made}",
        f"CREATE TEMPORARY VIEW now {made.replace('(', f'(path {str(zone)!r}, ', 1)}",
        "CREATE TABLE hr.now USING jdbc AS SELECT 1 AS a",
        "SELECT * FROM hr.before",
        "INSERT INTO hr.before VALUES ('x')",
        "SELECT (SELECT count(*) FROM hr.before)",
        "CREATE VIEW hr.over AS SELECT * FROM hr.before",
    ):
        with pytest.raises(AccessDenied, match="it may open something other than the name says"):
            spark.sql(deed).collect()
    plain.sql("CREATE VIEW hr.earlier AS SELECT * FROM hr.before")
    with pytest.raises(AccessDenied, match="it may open something other than the name says"):
        spark.table("hr.earlier")


@pytest.mark.parametrize("way", ["load", "class", "predicates", "table", "view"])
def test_nothing_runs_over_a_connection_that_is_refused(program: Program, plain: Any, way: str) -> None:
    writes = 'INSERT INTO "sales"."written" VALUES (1)'
    given = {"url": URL, "driver": DERBY, "dbtable": "SYSIBM.SYSDUMMY1", "sessionInitStatement": writes}
    settings_text = ", ".join(f"{name} '{value}'" for name, value in given.items())
    provider = "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider"

    def read(spark: Any) -> Any:
        if way == "predicates":
            reader = spark.read.option("sessionInitStatement", writes)
            return reader.jdbc(URL, given["dbtable"], predicates=["1 = 1"], properties={"driver": DERBY})
        if way in ("table", "view"):
            return spark.table(f"hr.connected_{way}")
        return spark.read.format("jdbc" if way == "load" else provider).options(**given).load()

    plain.sql("CREATE TABLE IF NOT EXISTS pg.sales.written (id INT)")
    plain.sql(f"CREATE TABLE IF NOT EXISTS hr.connected_table USING jdbc OPTIONS ({settings_text})")
    plain.sql("CREATE VIEW IF NOT EXISTS hr.connected_view AS SELECT 1 AS a")
    if way == "view":
        plain.sql("ALTER VIEW hr.connected_view AS SELECT * FROM hr.connected_table")
    plain.sql("REFRESH TABLE hr.connected_table")
    before = plain.table("pg.sales.written").count()
    with pytest.raises(AccessDenied, match=r"jdbc|JdbcRelationProvider"):
        read(program.may(EVERYTHING))
    assert plain.table("pg.sales.written").count() == before
    with active(plain, program.spark):
        read(plain).collect()
    assert plain.table("pg.sales.written").count() > before  # it would have


def test_properties_of_a_table_in_a_database_are_no_sql(program: Program) -> None:
    spark = program.may(EVERYTHING)
    for deed in (
        "CREATE TABLE pg.sales.raw (id INT) TBLPROPERTIES ('; drop table x; --' = '1')",
        "CREATE TABLE pg.sales.raw TBLPROPERTIES ('a' = 'b') AS SELECT 1 AS id",
        "CREATE TABLE pg.sales.raw (id INT) COMMENT 'it\\'s; drop table x'",
        "CREATE INDEX i ON pg.sales.orders (id) OPTIONS (a = 'b')",
    ):
        with pytest.raises(AccessDenied, match="it may open something other than the name says"):
            spark.sql(deed)


def test_a_name_is_no_piece_of_sql(program: Program) -> None:
    import pyspark

    if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3):
        pytest.skip("this Spark quotes names for databases")
    spark = program.may(EVERYTHING)
    deed = 'CREATE TABLE pg.sales.plain (`a" INT); drop table x; --` INT)'
    with pytest.raises(AccessDenied, match="a name with quotes"):
        spark.sql(deed)
    with pytest.raises(AccessDenied, match="a name with quotes"):
        spark.sql('ALTER TABLE pg.sales.orders ADD COLUMNS (`a" INT; --` INT)')


@pytest.mark.parametrize(
    "spelling",
    [
        "{mine,../zone/closed}",
        "mi*",
        "[m]ine",
        "../zone/closed",
        "mine/../../zone/closed",
        "%7Bmine%7D",
        "?ine",
    ],
)
def test_a_place_that_is_not_one_place_is_no_location(
    ana: Any, zone: Path, plain: Any, spelling: str
) -> None:
    for form in (
        f"file:{zone}/drop/{spelling}",
        f"{zone}/drop/{spelling}",
        f"file://{zone}/drop//{spelling}",
    ):
        deed = f"CREATE TABLE hr.braces (id BIGINT) USING parquet LOCATION '{form}'"
        with pytest.raises(AccessDenied):
            ana.sql(deed)
            assert ana.table("hr.braces").where("id = 666").count() == 0
            raise AccessDenied([], asked=0) if spelling == "%7Bmine%7D" else AssertionError(form)
        plain.sql("DROP TABLE IF EXISTS hr.braces")


def test_what_a_table_from_before_would_open_is_judged_place_by_place(
    program: Program, ana: Any, plain: Any, zone: Path
) -> None:
    place = f"file:{zone}/drop/{{mine,../zone/closed}}"
    plain.sql(f"CREATE TABLE hr.globbed (id BIGINT) USING parquet LOCATION '{place}'")
    assert refused(lambda: ana.table("hr.globbed")) == {"read table:lake.other.closed"}
    with pytest.raises(AccessDenied):
        ana.sql("TRUNCATE TABLE hr.globbed")
    with pytest.raises(AccessDenied):
        ana.sql("DROP TABLE hr.globbed")
    plain.sql(f"CREATE TABLE hr.upward (id BIGINT) USING parquet LOCATION 'file:{zone}/drop'")
    assert ana.table("hr.upward").schema.names == ["id"]
    plain.sql(f"CREATE TABLE hr.other (id BIGINT) USING parquet LOCATION 'file:{zone}/zone/closed'")
    assert refused(lambda: ana.table("hr.other")) == {"read table:lake.other.closed"}
    program.may(facts(zone, f"place {zone}/mine table lake.hr.outside"))
    with pytest.raises(AccessDenied, match="not at the location in the console"):
        ana.table("hr.outside")


def test_globs_are_judged_by_what_they_find(ana: Any, zone: Path) -> None:
    read = ana.read.schema("id BIGINT")
    assert read.parquet(f"{zone}/zone/op*").count() == 1
    for paths in ([f"{zone}/zone/*"], [f"{zone}/{{zone/open,zone/closed}}"], [f"{zone}/drop/../zone/closed"],
                  [f"{zone}/zone/open", f"file:{zone}/drop/mine/../../zone//closed/"]):  # fmt: skip
        assert refused(lambda paths=paths: read.parquet(*paths)) == {"read table:lake.other.closed"}


def test_a_folder_takes_the_right_of_all_that_lies_in_it(program: Program, ana: Any, zone: Path) -> None:
    read = ana.read.schema("id BIGINT").option("recursiveFileLookup", "true")
    assert refused(lambda: read.parquet(f"{zone}/zone")) == {"read table:lake.other.closed"}
    program.may(facts(zone, "owner fileset lake.fs.zone"))
    gone = {"write table:lake.other.closed"}
    assert refused(lambda: ana.range(1).write.mode("overwrite").parquet(f"{zone}/zone")) == gone
    deed = f"INSERT OVERWRITE DIRECTORY '{zone}/zone' USING parquet SELECT 1"
    assert refused(lambda: ana.sql(deed)) == gone
    assert read.parquet(f"{zone}/zone/open").count() == 1


def test_every_way_to_give_a_table_a_place_asks_about_it(ana: Any, plain: Any, zone: Path) -> None:
    closed = f"{zone}/zone/closed"
    rows = ana.range(1)
    plain.sql(
        f"CREATE TABLE hr.parted (a INT, d INT) USING parquet PARTITIONED BY (d) LOCATION '{zone}/drop/p'"
    )
    deeds: tuple[Callable[[], Any], ...] = (
        lambda: rows.write.option("path", closed).saveAsTable("hr.put"),
        lambda: rows.write.option("PATH", closed).mode("overwrite").saveAsTable("hr.put"),
        lambda: rows.writeTo("hr.put").using("parquet").option("path", closed).create(),
        lambda: ana.catalog.createTable("hr.put", closed, "parquet", rows.schema),
        lambda: ana.sql(f"CREATE TABLE hr.put USING parquet OPTIONS (path '{closed}') AS SELECT 1 AS id"),
        lambda: ana.sql(f"CREATE EXTERNAL TABLE hr.put (a INT) STORED AS PARQUET LOCATION '{closed}'"),
        lambda: ana.sql(f"CREATE TABLE hr.put LIKE hr.outside LOCATION '{closed}'"),
        lambda: ana.sql(f"ALTER TABLE hr.outside SET LOCATION '{closed}'"),
        lambda: ana.sql(f"ALTER TABLE hr.parted ADD PARTITION (d = 1) LOCATION '{closed}'"),
        lambda: ana.sql(
            f"ALTER TABLE hr.parted ADD PARTITION (d = 1) LOCATION '{zone}/drop/{{p,../zone/*}}'"
        ),
        lambda: ana.sql(f"LOAD DATA INPATH '{zone}/zone/open' INTO TABLE hr.outside"),
        lambda: ana.sql(f"INSERT OVERWRITE DIRECTORY '{closed}' STORED AS PARQUET SELECT 1"),
    )
    for deed in deeds:
        with pytest.raises(Exception) as error:  # Spark itself refuses some of them
            deed()
        assert not ana.catalog.tableExists("hr.put"), error.value
        assert "access denied" in str(error.value) or "not supported" in str(error.value), error.value
    assert plain.read.parquet(closed).collect()[0].id == 666
    assert plain.read.parquet(f"{zone}/zone/open").count() == 1


def test_files_in_sparks_second_way_are_judged_alike(ana: Any, zone: Path) -> None:
    ana.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        read = ana.read.schema("id BIGINT")
        assert read.parquet(f"{zone}/zone/open").count() == 1
        assert refused(lambda: read.parquet(f"{zone}/zone/*")) == {"read table:lake.other.closed"}
        assert refused(lambda: read.parquet(f"{zone}/zone")) == {"read table:lake.other.closed"}
        with pytest.raises(AccessDenied, match=r"option fs\.file\.impl"):
            read.option("fs.file.impl", "org.example.Files").parquet(f"{zone}/zone/open").collect()
        with pytest.raises(AccessDenied):
            ana.range(1).write.mode("append").parquet(f"{zone}/zone/open")
    finally:
        ana.conf.unset("spark.sql.sources.useV1SourceList")


def test_links_are_followed_before_the_judgement(ana: Any, zone: Path) -> None:
    read = ana.read.schema("id BIGINT")
    link, inner = zone / "drop" / "link", zone / "drop" / "deep" / "inner"
    inner.parent.mkdir()
    try:
        link.symlink_to(zone / "zone" / "closed")
        inner.symlink_to(zone / "zone" / "closed")
        assert refused(lambda: read.parquet(str(link))) == {"read table:lake.other.closed"}
        assert refused(lambda: read.parquet(str(inner.parent))) == {"read table:lake.other.closed"}
    finally:
        link.unlink()
        inner.unlink()


def test_a_class_of_hives_that_reads_other_files_is_refused(ana: Any, plain: Any, zone: Path) -> None:
    io = "org.apache.hadoop.hive.ql.io"
    classes = f"'{io}.SymlinkTextInputFormat' OUTPUTFORMAT '{io}.HiveIgnoreKeyTextOutputFormat'"
    stored = f"STORED AS INPUTFORMAT {classes}"
    with pytest.raises(AccessDenied, match=r"class .*SymlinkTextInputFormat"):
        ana.sql(f"CREATE TABLE hr.links (a STRING) {stored} LOCATION '{zone}/drop/links'")
    plain.sql(f"CREATE TABLE hr.links (a STRING) {stored} LOCATION '{zone}/drop/links'")
    with pytest.raises(AccessDenied, match=r"class .*SymlinkTextInputFormat"):
        ana.table("hr.links")
    with pytest.raises(AccessDenied, match=r"property avro\.schema\.url"):
        ana.sql("CREATE TABLE hr.avro (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url' = 'http://x/')")


def test_a_schema_in_a_place_asks_about_the_place(ana: Any, zone: Path) -> None:
    assert refused(lambda: ana.sql(f"CREATE SCHEMA s1 LOCATION '{zone}/zone/closed'")) >= {
        "read table:lake.other.closed", "write table:lake.other.closed"
    }  # fmt: skip
    with pytest.raises(AccessDenied, match="not in a fileset or table"):
        ana.sql("CREATE SCHEMA s1 LOCATION '/somewhere/else'")
    ana.sql(f"CREATE SCHEMA s1 LOCATION '{zone}/drop/s1'")
    deed = f"ALTER DATABASE hr SET LOCATION '{zone}/zone/closed'"
    assert refused(lambda: ana.sql(deed)) >= {"write table:lake.other.closed"}


def test_a_stream_keeps_its_notes_where_one_may_write(ana: Any, zone: Path) -> None:
    rows = ana.readStream.format("rate").load()

    def start(notes: Path) -> Any:
        return rows.writeStream.format("noop").option("checkpointLocation", str(notes)).start()

    assert refused(lambda: start(zone / "zone" / "closed" / "notes")) >= {"write table:lake.other.closed"}
    query = start(zone / "drop" / "notes")
    query.stop()
    rows.writeStream.format("noop").start().stop()


def test_the_schemas_that_one_may_use_are_listed(program: Program) -> None:
    spark = program.may("allow USE_CATALOG catalog lake\nallow USE_SCHEMA schema lake.hr")
    assert [listdatabase.name for listdatabase in spark.catalog.listDatabases()] == ["hr"]
    assert [listdatabase.name for listdatabase in spark.catalog.listDatabases("h*")] == ["hr"]
    assert spark.catalog.listDatabases("it's") == []
    program.may("")
    assert refused(lambda: spark.catalog.listDatabases()) == {"use catalog:lake"}


def test_rates_are_nobodys_data(program: Program) -> None:
    spark = program.may("")
    assert spark.readStream.format("rate").option("rowsPerSecond", 5).load().isStreaming
    assert spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load().isStreaming


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.catalog.pg.url", "jdbc:derby:memory:other;create=true"),
        ("spark.sql.catalog.pg.sessionInitStatement", "values 1"),
        ("spark.sql.catalog.pg", "org.example.Catalog"),
        ("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem"),
        ("spark.hadoop.fs.s3a.endpoint", "http://elsewhere"),
    ],
)
def test_settings_that_lead_elsewhere_stay_as_they_were(program: Program, setting: str, value: str) -> None:
    spark = program.may(EVERYTHING).newSession()
    assert spark.table("hr.emp").count() == 2
    spark.conf.set(setting, value)
    with pytest.raises(AccessDenied, match=f"setting {setting}"):
        spark.table("hr.emp")
    with pytest.raises(Exception, match=f"setting {setting}|NOT_FOUND|CANNOT_LOAD|Cannot find catalog"):
        spark.table("pg.sales.orders").collect()
    assert spark.range(1).count() == 1
