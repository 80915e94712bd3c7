"""The world of hostile.toml, and what came of one of its attempts.  Needs neither Django nor a guard."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SENTINEL = "s3ntinel"
TABLE = Path(__file__).with_name("hostile.toml")
DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"
_HIDDEN = f"(id INT, {SENTINEL} STRING)"
_ROWS = f"VALUES (1, '{SENTINEL} one'), (2, '{SENTINEL} two')"

WORLD = (
    "CREATE DATABASE hx_shop",
    "CREATE DATABASE hx_vault",
    "CREATE DATABASE hx_scratch",
    "CREATE TABLE hx_shop.open (id INT, word STRING) USING parquet",
    f"CREATE TABLE hx_shop.secret {_HIDDEN} USING parquet TBLPROPERTIES ('{SENTINEL}' = 'x')",
    f"CREATE TABLE hx_vault.gold {_HIDDEN} USING parquet",
    "CREATE TABLE hx_shop.parted (id INT, d INT) USING parquet PARTITIONED BY (d)",
    f"CREATE TABLE hx_shop.zoned {_HIDDEN} USING parquet LOCATION '@base/area/closed'",
    "CREATE TABLE hx_vault.parted (id INT, d INT) USING parquet PARTITIONED BY (d)",
    "INSERT INTO hx_shop.open VALUES (1, 'plain'), (2, 'plain')",
    f"INSERT INTO hx_shop.secret {_ROWS}",
    f"INSERT INTO hx_vault.gold {_ROWS}",
    f"INSERT INTO hx_shop.zoned {_ROWS}",
    "INSERT INTO hx_shop.parted VALUES (1, 1)",
    "CREATE VIEW hx_shop.v_secret AS SELECT * FROM hx_shop.secret",
    "CREATE VIEW hx_shop.v_again AS SELECT * FROM hx_shop.v_secret",
    "CREATE NAMESPACE pg.hx_sales",
    "CREATE TABLE pg.hx_sales.channels (id INT, word STRING)",
    f"CREATE TABLE pg.hx_sales.orders {_HIDDEN}",
    "INSERT INTO pg.hx_sales.channels VALUES (1, 'plain')",
    f"INSERT INTO pg.hx_sales.orders {_ROWS}",
    "INSERT OVERWRITE DIRECTORY '@base/area/open' USING parquet SELECT * FROM hx_shop.open",
    "INSERT OVERWRITE DIRECTORY '@base/drop/mine' USING parquet SELECT * FROM hx_shop.open",
    "INSERT OVERWRITE DIRECTORY '@base/area/inner' USING parquet SELECT * FROM hx_shop.secret",
    "INSERT OVERWRITE DIRECTORY '@base/elsewhere' USING parquet SELECT * FROM hx_shop.secret",
)
NEWER = (
    f"CREATE FUNCTION hx_shop.peek() RETURNS STRING RETURN (SELECT max({SENTINEL}) FROM hx_shop.secret)",
)
HIVE = "CREATE TABLE hx_shop.hv (s STRING) STORED AS TEXTFILE"
SHARED = (
    HIVE,
    "CREATE GLOBAL TEMPORARY VIEW hx_old AS SELECT * FROM hx_shop.secret",
)
OLDER = (
    *SHARED,
    "CREATE TEMPORARY VIEW old_secret AS SELECT * FROM hx_shop.secret",
    "CACHE TABLE hx_kept AS SELECT * FROM hx_shop.secret",
)
FACTS = """
allow USE_CATALOG   catalog lake
allow USE_SCHEMA    schema  lake.hx_shop
allow SELECT_TABLE  schema  lake.hx_shop
deny  SELECT_TABLE  table   lake.hx_shop.secret
deny  SELECT_TABLE  table   lake.hx_shop.zoned
owner               schema  lake.hx_scratch
allow USE_CATALOG   catalog pg
allow USE_SCHEMA    schema  pg.hx_sales
allow SELECT_TABLE  table   pg.hx_sales.channels
allow USE_CATALOG   catalog fs
allow USE_SCHEMA    schema  fs.area
allow READ_FILESET  fileset fs.area.all
deny  READ_FILESET  fileset fs.area.inner
allow READ_FILESET  fileset fs.area.drop
allow WRITE_FILESET fileset fs.area.drop
place @base/area         fileset fs.area.all
place @base/area/inner   fileset fs.area.inner
place @base/area/closed  table   lake.hx_shop.zoned
place @base/drop         fileset fs.area.drop
place @house/hx_shop.db/secret table lake.hx_shop.secret
"""


class Attempt(NamedTuple):
    """One line of the table."""

    text: str
    uses: str
    why: str
    expected: str
    control: str
    since: str
    not_remote: str
    only_remote: str


class Outcome(NamedTuple):
    """What came of it: everything that was shown, and the error that ended it."""

    shown: str
    error: Exception | None

    @property
    def leaked(self) -> bool:
        return SENTINEL in f"{self.shown} {self.error or ''}".lower()


def attempts() -> list[Attempt]:
    table = tomllib.loads(TABLE.read_text())
    return [
        Attempt(
            text,
            group["uses"],
            group["why"],
            group["expected"],
            group["control"],
            group.get("since", "3.5"),
            group.get("not_remote", ""),
            group.get("only_remote", ""),
        )
        for group in table["group"]
        for text in group["attempts"]
    ]


def out_of_reach() -> list[str]:
    lines: list[str] = tomllib.loads(TABLE.read_text())["out_of_reach"]["lines"]
    return lines


def filled(text: str, places: dict[str, str], number: str = "") -> str:
    for name, value in {**places, "@n": number}.items():
        text = text.replace(name, value)
    return text


def build(sql: Callable[[str], Any], base: Path, places: dict[str, str], *, functions: bool) -> None:
    for statement in (*WORLD, *(NEWER if functions else ())):
        sql(filled(statement, places))
    (base / "marked").mkdir()
    (base / "marked" / "marked.txt").write_text(f"{SENTINEL}\n")
    (base / "marked" / "marked.json").write_text(f'{{"a": "{SENTINEL}"}}\n')
    schema = {"type": "record", "name": "r", "fields": [{"name": SENTINEL, "type": "string"}]}
    (base / "marked" / "marked.avsc").write_text(json.dumps(schema))
    (base / "drop" / "link").symlink_to(base / "elsewhere")
    _list_files(base / "drop" / "listed", (base / "elsewhere").glob("*.parquet"))


def _list_files(folder: Path, files: Iterable[Path]) -> None:
    """What a stream leaves where it writes: the list of what is there, which may say anything."""
    (folder / "_spark_metadata").mkdir(parents=True)
    lines = [
        {
            "path": file.as_uri(),
            "size": file.stat().st_size,
            "isDir": False,
            "modificationTime": 1_700_000_000_000,
            "blockReplication": 1,
            "blockSize": 1 << 25,
            "action": "add",
        }
        for file in files
    ]
    (folder / "_spark_metadata" / "0").write_text("\n".join(["v1", *map(json.dumps, lines)]))


def changes(before: dict[str, Any], now: dict[str, Any], base: Path, *, controls: bool = False) -> set[str]:
    """What is not as it was, but for the empty folders that a refused stream leaves.

    Controls make folders, and tables in @base/drop; where they ran, those are not looked at.
    """
    if controls:
        before, now = _without_what_controls_make(before, base), _without_what_controls_make(now, base)
    folders = [path for path in base.rglob("*") if path.is_dir()]
    empty = {f"{path} " for path in folders if all(inside.is_dir() for inside in path.rglob("*"))}
    left = {path for path in empty if path.startswith((f"{base}/nowhere", f"{base}/drop/c_"))}
    known = {**now, "files": sorted({*now["files"]} - left)}
    return {f"{name}: {known[name]} was {before[name]}" for name in known if known[name] != before[name]}


def _without_what_controls_make(listing: dict[str, Any], base: Path) -> dict[str, Any]:
    files = [line for line in listing["files"] if not line.endswith(" ")]
    return {**listing, "files": [line for line in files if not line.startswith(f"{base}/drop/")]}


def twin(text: str, places: dict[str, str], base: Path, number: str = "") -> str:
    """The same said of a second world, which may change."""
    return filled(text, {**places, "@base": str(base)}, number).replace("hx_", "hz_")


_KEPT = ("USE ", "SET ", "RESET", "setCurrentDatabase")


def stays(text: str) -> bool:
    """Whether the session is another one for what comes next."""
    return any(word in text for word in _KEPT)


def state(sql: Callable[[str], Any], base: Path) -> dict[str, object]:
    """All that nobody may change here."""
    state_: dict[str, object] = {
        name: sorted(map(str, sql(f"SELECT * FROM {name}").collect()))
        for name in (
            "hx_shop.open",
            "hx_shop.secret",
            "hx_shop.zoned",
            "hx_shop.parted",
            "hx_shop.v_secret",
            "hx_vault.gold",
            "pg.hx_sales.channels",
            "pg.hx_sales.orders",
        )
    }
    for schema in ("hx_shop", "hx_vault", "pg.hx_sales"):
        listed = sql(f"SHOW TABLES IN {schema}").collect()
        state_[schema] = sorted(row.tableName for row in listed if not getattr(row, "isTemporary", False))
    schemas = (str(row[0]) for row in sql("SHOW NAMESPACES").collect())
    state_["schemas"] = sorted(
        name for name in schemas if "_c" not in name and not name.startswith("hz_")
    )  # what controls made
    state_["files"] = sorted(
        f"{path} {path.stat().st_mtime_ns if path.is_file() else ''}" for path in base.rglob("*")
    )
    return state_


def ran(spark: Any, text: str, pyspark_functions: Any) -> Outcome:
    """Say it in a session, statement by statement, and gather all that is shown."""
    shown: list[str] = []
    try:
        warnings.simplefilter("ignore")
        for statement in _statements(text):
            if statement.startswith("py: "):
                names = {"spark": spark, "F": pyspark_functions}
                shown += _shown(eval(statement[4:], names))  # noqa: S307 - the table is ours
            else:
                shown += _shown(spark.sql(statement))
    except Exception as error:  # noqa: BLE001 - whatever ends it is what came of it
        return Outcome(" ".join(shown), error)
    return Outcome(" ".join(shown), None)


def _statements(text: str) -> Iterator[str]:
    yield from (part.strip() for part in text.split(" ;; "))


def _shown(answer: Any) -> Iterator[str]:
    if hasattr(answer, "collect"):
        yield from (answer.schema.simpleString(), str(answer.collect()))
    elif answer is not None:
        yield str(answer)
