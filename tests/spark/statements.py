"""Statements and what each asks of the console: a number, the statement, what it takes.

`T` is a folder of the test's own, mapped to fileset `lake.hr.files`; `U` is one that nobody knows.
What stands after `--` is run first, unguarded.  The last column is the Spark that brought it.
"""

from __future__ import annotations

EMP, DEPT = "read table:lake.hr.emp", "read table:lake.hr.dept"
FILES = "fileset:lake.hr.files"
PARTED = "CREATE TABLE hr.{} (a INT, d INT) USING parquet PARTITIONED BY (d)"

SQL: tuple[tuple[str, str, str, str], ...] = (
    ("1", "SELECT name FROM hr.emp", EMP, ""),
    ("2", "SELECT e.name FROM hr.emp e JOIN hr.dept d ON e.dept = d.id", f"{EMP}; {DEPT}", ""),
    ("3", "WITH c AS (SELECT * FROM hr.emp) SELECT * FROM c a JOIN c b ON a.id = b.id", EMP, ""),
    ("4", "SELECT * FROM hr.dept WHERE id IN (SELECT dept FROM hr.emp)", f"{EMP}; {DEPT}", ""),
    (
        "4 exists",
        "SELECT * FROM hr.dept d WHERE EXISTS (SELECT 1 FROM hr.emp WHERE dept = d.id)",
        f"{EMP}; {DEPT}",
        "",
    ),
    (
        "4 lateral",
        "SELECT * FROM hr.emp e, LATERAL (SELECT * FROM hr.dept d WHERE d.id = e.dept)",
        f"{EMP}; {DEPT}",
        "",
    ),
    ("5", "SELECT (SELECT max(id) FROM hr.emp)", EMP, ""),
    ("6", "SELECT * FROM hr.v2", "read view:lake.hr.v2", ""),
    ("8", "SELECT * FROM parquet.`T/known`", f"read {FILES}", ""),
    ("9", "SELECT * FROM pg.sales.orders", "read table:pg.sales.orders", ""),
    ("10", "VALUES (1)", "", ""),
    ("10 range", "SELECT * FROM range(3)", "", ""),
    ("11", "FROM hr.emp |> WHERE id = 1 |> SELECT name", EMP, "4.0"),
    (
        "12",
        "EXECUTE IMMEDIATE 'DROP TABLE hr.d12' -- CREATE TABLE hr.d12 (a INT) USING parquet",
        "drop table:lake.hr.d12",
        "4.0",
    ),
    ("18", "SELECT * FROM hr.hv", "read table:lake.hr.hv", ""),
    ("20", "INSERT INTO hr.dept SELECT id, name FROM hr.emp", f"write table:lake.hr.dept; {EMP}", ""),
    (
        "21",
        "INSERT OVERWRITE hr.part PARTITION (d = 1) SELECT id FROM hr.emp",
        f"write table:lake.hr.part; {EMP}",
        "",
    ),
    (
        "22",
        "INSERT INTO pg.sales.orders SELECT id, dept FROM hr.emp",
        f"write table:pg.sales.orders; {EMP}",
        "",
    ),
    (
        "23",
        "INSERT OVERWRITE DIRECTORY 'T/dir' USING parquet SELECT * FROM hr.emp",
        f"write {FILES}; {EMP}",
        "",
    ),
    (
        "23 hive",
        "INSERT OVERWRITE DIRECTORY 'T/hive' SELECT * FROM hr.hv",
        f"write {FILES}; read table:lake.hr.hv",
        "",
    ),
    ("24 insert", "INSERT INTO hr.hv SELECT id, name FROM hr.emp", f"write table:lake.hr.hv; {EMP}", ""),
    (
        "24 create",
        "CREATE TABLE hr.c24 STORED AS TEXTFILE AS SELECT * FROM hr.emp",
        f"create_table schema:lake.hr; {EMP}",
        "",
    ),
    (
        "25",
        "CREATE TABLE hr.c25 USING parquet AS SELECT * FROM hr.emp",
        f"create_table schema:lake.hr; {EMP}",
        "",
    ),
    ("26", "CREATE TABLE pg.sales.c26 AS SELECT id FROM hr.emp", f"create_table schema:pg.sales; {EMP}", ""),
    (
        "28",
        "CREATE TABLE hr.c28 (a INT) USING parquet LOCATION 'T/c28'",
        f"create_table schema:lake.hr; read {FILES}; write {FILES}",
        "",
    ),
    ("28 empty", "CREATE TABLE hr.c28b (a INT) USING parquet", "create_table schema:lake.hr", ""),
    ("28 like", "CREATE TABLE hr.c28c LIKE hr.emp", f"create_table schema:lake.hr; {EMP}", ""),
    (
        "34",
        "MERGE INTO hr.dept USING hr.emp ON dept.id = emp.id WHEN MATCHED THEN DELETE",
        f"write table:lake.hr.dept; {EMP}",
        "",
    ),
    ("35 update", "UPDATE hr.dept SET title = 'x'", "write table:lake.hr.dept", ""),
    (
        "35 delete",
        "DELETE FROM hr.dept WHERE id IN (SELECT dept FROM hr.emp)",
        f"write table:lake.hr.dept; {EMP}",
        "",
    ),
    ("36", "DELETE FROM pg.sales.orders WHERE id = 1", "write table:pg.sales.orders", ""),
    (
        "37 truncate",
        "TRUNCATE TABLE hr.c37 -- CREATE TABLE hr.c37 (a INT) USING parquet",
        "write table:lake.hr.c37",
        "",
    ),
    (
        "37 partition",
        "ALTER TABLE hr.p37 DROP IF EXISTS PARTITION (d = 1) -- " + PARTED.format("p37"),
        "alter table:lake.hr.p37",
        "",
    ),
    (
        "37 add",
        "ALTER TABLE hr.p37a ADD PARTITION (d = 1) LOCATION 'T/p37' -- " + PARTED.format("p37a"),
        f"alter table:lake.hr.p37a; read {FILES}; write {FILES}",
        "",
    ),
    (
        "38",
        "LOAD DATA LOCAL INPATH 'T/words.txt' INTO TABLE hr.hv",
        f"write table:lake.hr.hv; read {FILES}",
        "",
    ),
    (
        "39",
        "CREATE VIEW hr.v39 AS SELECT * FROM hr.v_emp",
        "create_view schema:lake.hr; read view:lake.hr.v_emp",
        "",
    ),
    (
        "39 replace",
        "CREATE OR REPLACE VIEW hr.v39r AS SELECT 1 a -- CREATE VIEW hr.v39r AS SELECT 2 a",
        "alter view:lake.hr.v39r",
        "",
    ),
    ("40 temporary", "CREATE TEMPORARY VIEW tv40 AS SELECT * FROM hr.emp", EMP, ""),
    (
        "40",
        "ALTER VIEW hr.v40 AS SELECT * FROM hr.emp -- CREATE VIEW hr.v40 AS SELECT 1 a",
        f"alter view:lake.hr.v40; {EMP}",
        "",
    ),
    (
        "41 table",
        "DROP TABLE hr.d41 -- CREATE TABLE hr.d41 (a INT) USING parquet",
        "drop table:lake.hr.d41",
        "",
    ),
    (
        "41 view",
        "DROP VIEW hr.v41 -- CREATE VIEW hr.v41 AS SELECT * FROM hr.emp",
        "drop view:lake.hr.v41",
        "",
    ),
    (
        "42",
        "ALTER TABLE hr.r42 RENAME TO hr.s42 -- CREATE TABLE hr.r42 (a INT) USING parquet",
        "alter table:lake.hr.r42",
        "",
    ),
    (
        "43",
        "ALTER TABLE hr.a43 ADD COLUMNS (b INT) -- CREATE TABLE hr.a43 (a INT) USING parquet",
        "alter table:lake.hr.a43",
        "",
    ),
    (
        "43 v2",
        "ALTER TABLE pg.sales.a43 ADD COLUMNS (b INT) -- CREATE TABLE pg.sales.a43 (a INT)",
        "alter table:pg.sales.a43",
        "",
    ),
    ("44 comment", "COMMENT ON TABLE hr.emp IS 'people'", "alter table:lake.hr.emp", ""),
    ("44 analyze", "ANALYZE TABLE hr.emp COMPUTE STATISTICS", EMP, ""),
    ("44 refresh", "REFRESH TABLE hr.emp", EMP, ""),
    ("45", "CACHE TABLE hr.emp", EMP, ""),
    ("45 query", "CACHE TABLE c45 AS SELECT * FROM hr.emp", EMP, ""),
    ("46", "DESCRIBE hr.emp", EMP, ""),
    ("46 columns", "SHOW COLUMNS IN hr.emp", EMP, ""),
    ("46 create", "SHOW CREATE TABLE hr.emp", EMP, ""),
    ("46 partitions", "SHOW PARTITIONS hr.part", "read table:lake.hr.part", ""),
    ("46 view", "DESCRIBE hr.v2", "read view:lake.hr.v2", ""),
    ("47", "SHOW TABLES IN hr", "use schema:lake.hr", ""),
    ("47 views", "SHOW VIEWS IN hr", "use schema:lake.hr", ""),
    ("48 create", "CREATE DATABASE x48", "create_schema catalog:lake", ""),
    ("48 drop", "DROP DATABASE y48 -- CREATE DATABASE y48", "drop schema:lake.y48", ""),
    ("48 use", "USE pg.sales", "use schema:pg.sales", ""),
    ("50 set", "SET some.setting = 1", "", ""),
    (
        "54 scalar",
        "CREATE TEMPORARY FUNCTION f54() RETURNS INT RETURN (SELECT max(id) FROM hr.emp)",
        EMP,
        "4.0",
    ),
    (
        "54 table",
        "CREATE TEMPORARY FUNCTION g54() RETURNS TABLE(id INT) RETURN SELECT id FROM hr.emp",
        EMP,
        "4.0",
    ),
    (
        "54 kept",
        "CREATE FUNCTION hr.h54() RETURNS INT RETURN (SELECT max(id) FROM hr.emp)",
        "create_function schema:lake.hr",
        "4.0",
    ),
)

REFUSED: tuple[tuple[str, str, str, str], ...] = (
    # what nobody is asked about, refused by its name whatever one may do
    ("8", "SELECT * FROM parquet.`U/known`", "path file:U/known", ""),
    ("19", "SELECT TRANSFORM (id) USING 'cat' AS (x) FROM hr.hv", "ScriptTransformation", ""),
    ("23", "INSERT OVERWRITE DIRECTORY 'U/dir' USING parquet SELECT 1", "path U/dir", ""),
    ("28", "CREATE TABLE hr.u28 (a INT) USING parquet LOCATION 'U/t'", "elsewhere/t", ""),
    ("50 jar", "ADD JAR 'file:///nowhere.jar'", "AddJarsCommand", ""),
    ("50 file", "ADD FILE '/etc/hostname'", "path /etc/hostname", ""),
    ("50 function", "CREATE FUNCTION hr.j50 AS 'org.example.Code'", "CreateFunctionCommand", ""),
    ("analyze all", "ANALYZE TABLES IN hr COMPUTE STATISTICS", "AnalyzeTablesCommand", ""),
)
