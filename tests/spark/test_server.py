"""The guard as a service: a Connect server that we start, and programs that reach it over the wire."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="grpcio is missing; make setup installs it")

from lakewarden.__main__ import main
from lakewarden.spark.server_environment import exposed
from tests.client.conftest import TOKEN
from tests.ports import free_port
from tests.spark.connect import ROOT, Everybody, connect_server
from tests.spark.test_guard import READER

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
PROGRAM = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

def said(name, deed):
    try:
        print(name, "=", deed(), flush=True)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        print(name, "!", " / ".join(lines[:4]), flush=True)

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
said("read", lambda: spark.read.schema("id BIGINT").parquet(sys.argv[2]).count())
said("columns", lambda: spark.read.schema("id BIGINT").parquet(sys.argv[2]).columns)
said("other", lambda: spark.read.schema("id BIGINT").parquet(sys.argv[3]).count())
said("drop", lambda: spark.sql("DROP TABLE IF EXISTS here").count())
said("script", lambda: spark.sql("BEGIN SELECT 1; DROP TABLE IF EXISTS here; END").count())
said("java", lambda: spark.sql("SELECT java_method('java.util.UUID', 'randomUUID')").count())
said("variable", lambda: spark.sql("SELECT '${env:PATH}' || '${system:user.home}'").first()[0])

def secrets():
    import os
    seen, pid = [" ".join(os.environ.values()).encode()], os.getpid()
    while pid > 1 and len(seen) < 8:  # the worker, what began it, Spark, the server
        with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline", "rb") as line:
            seen += [environ.read(), line.read()]
        with open(f"/proc/{pid}/stat") as stat:
            pid = int(stat.read().rpartition(")")[2].split()[1])
        if b"connect-server" in seen[-1]:
            break
    return str([len(seen) > 4, sum(b"s3cret" in one for one in seen)])

said("secrets", lambda: spark.range(1).select(udf(secrets, "string")()).first()[0])
said("settings", lambda: "s3cret" in str(spark.sql("SET").collect()) + str(spark.sql("SET -v").collect()))
emp = spark.read.schema("id BIGINT")
said("glob", lambda: emp.parquet(sys.argv[2][:-3] + "{emp,other}").count())
said("above", lambda: emp.option("recursiveFileLookup", True).parquet(sys.argv[2][:-4]).count())
RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
said("option", lambda: emp.option("fs.file.impl", RAW).parquet(sys.argv[2]).count())
said("jdbc", lambda: spark.sql("CREATE TABLE here USING jdbc OPTIONS (url 'jdbc:x', dbtable 't')").count())
said("format", lambda: spark.read.format("lakewarden").options(realm="demo", view="grants").load().count())
gone = {"url": "jdbc:derby:" + sys.argv[2] + "-made;create=true", "dbtable": "SYSIBM.SYSDUMMY1"}
gone["driver"] = "org.apache.derby.jdbc.EmbeddedDriver"
said("connects", lambda: spark.read.format("jdbc").options(**gone).load().schema)
said("connected", lambda: spark.read.jdbc(
    gone["url"], gone["dbtable"], predicates=["1=1"], properties={"driver": gone["driver"]}).schema)
said("setting", lambda: [spark.conf.set("fs.file.impl", RAW), emp.parquet(sys.argv[2]).count()])
said("own", lambda: spark.range(3).select(udf(lambda n: n + 1, "bigint")("id")).count())
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("lake")
    for name in ("emp", "other"):
        (folder / name).mkdir()
        parquet.write_table(arrow.table({"id": [1, 2]}), folder / name / "part.parquet")
    return folder


@pytest.fixture(scope="module")
def console(lake: Path) -> Iterator[Everybody]:
    made = Everybody({"ana": f"{READER}\nplace {lake / 'emp'} table lake.hr.emp"})
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def server(java: str, console: Everybody, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    settings, catalogs = {"spark.sql.warehouse.dir": str(home)}, {"spark_catalog": "demo/lake"}
    with connect_server(console, home, settings, catalogs, free_port()) as address:
        yield address
    uses = {
        (use["principal"], use["resource"], use["executed"])
        for body in console.reports
        for use in body["uses"]
    }
    assert uses == {("user:ana", "table:demo/lake.hr.emp", True)}


def client(server: str, lake: Path, user: str) -> dict[str, str]:
    """What a program on the other side is told, by the name of its deed."""
    address = f"{server}/;user_id={user}" if user else server
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, address, str(lake / "emp"), str(lake / "other")],
        env={name: value for name, value in os.environ.items() if name not in ("SPARK_LOCAL_IP", "USER")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if line)


@pytest.fixture(scope="module")
def told(server: str, lake: Path) -> dict[str, str]:
    """What the program of ana is told."""
    return client(server, lake, "ana")


def test_a_remote_program_is_served_what_its_user_may_and_refused_the_rest(
    told: dict[str, str], lake: Path
) -> None:
    assert told["read"] == "= 2"
    assert told["columns"] == "= ['id']"
    assert "LAKEWARDEN-REFUSED" in told["other"]
    assert "user:ana may not read path" in told["other"]
    for deed in ("drop", "script"):
        assert "LAKEWARDEN-REFUSED" in told[deed], told[deed]
        assert "user:ana may not drop" in told[deed]
    assert "user:ana may not run function java_method" in told["java"]
    for deed in ("glob", "above", "option", "jdbc", "connects", "connected", "setting"):
        assert "LAKEWARDEN-REFUSED" in told[deed], told[deed]
    assert not (lake / "emp-made").exists()
    assert told["format"].startswith("!"), told["format"]
    assert told["own"] == "= 3"
    assert told["variable"] == "= ${env:PATH}${system:user.home}"


def test_no_secret_of_the_server_is_within_reach_of_a_client(told: dict[str, str]) -> None:
    assert "s3cret" in TOKEN
    assert told["secrets"] == "= [True, 0]"
    assert told["settings"] == "= False"


def test_somebody_the_console_does_not_know_is_refused(server: str, lake: Path) -> None:
    results = client(server, lake, "mallory")
    assert {deed for deed, outcome in results.items() if outcome.startswith("=")} == set()
    assert "403" in results["read"]


def test_no_user_no_access(server: str, lake: Path) -> None:
    results = client(server, lake, "")
    assert {deed for deed, outcome in results.items() if outcome.startswith("=")} == set()
    assert "no user is named, so nothing is allowed" in results["own"]


def test_it_does_not_start_without_a_console(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lakewarden", "connect-server", "--realm", "demo"],
        env={
            **os.environ,
            "LAKEWARDEN_URL": "http://127.0.0.1:9",
            "LAKEWARDEN_TOKEN": TOKEN,
            "PYTHONPATH": str(ROOT),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "gave no answer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.catalog.pg.password=s3cret",
        "spark.sql.catalog.pg.url=jdbc:postgresql://db/shop?user=a&password=s3cret",
        "spark.hadoop.fs.s3a.secret.key=s3cret",
        "spark.hadoop.javax.jdo.option.ConnectionPassword=s3cret",
        "spark.authenticate.secret=s3cret",
    ],
)
def test_it_does_not_start_with_a_secret_that_clients_could_read(
    console: Everybody, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    assert main(["connect-server", "--realm", "demo", "--port", "0", "--conf", setting]) == 2
    errors = capsys.readouterr().err
    assert f"every client could read the setting {setting.partition('=')[0]}:" in errors
    assert "password file" in errors
    assert "s3cret" not in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("spark.ssl.keyStorePassword", "x", True),
        ("spark.hadoop.fs.s3a.access.key", "AKIA", True),
        ("spark.hadoop.fs.s3a.session.token", "x", True),
        ("spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net", "x", True),
        ("spark.sql.catalog.pg.url", "jdbc:oracle:thin:scott/tiger@db:1521/x", True),
        ("spark.sql.catalog.pg.url", "jdbc:mysql://root:x@db/shop", True),
        ("spark.sql.catalog.pg.url", "jdbc:sqlserver://db;user=a;password=x", True),
        ("spark.executorEnv.AWS_SECRET_ACCESS_KEY", "x", True),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.trustStorePassword=x", True),
        ("spark.sql.catalog.pg.url", "jdbc:postgresql://db:5432/shop", False),
        ("spark.sql.catalog.pg.user", "spark", False),
        ("spark.authenticate.secret.file", "/etc/spark/secret", False),
        ("spark.security.credentials.hive.enabled", "true", False),
        ("spark.hadoop.hadoop.security.credential.provider.path", "jceks://file/x", False),
        ("spark.redaction.regex", "(?i)secret|password", False),
        ("spark.sql.maxMetadataStringLength", "100", False),
    ],
)
def test_which_settings_hold_secrets(name: str, value: str, secret: bool) -> None:
    assert exposed({name: value}) == ([name] if secret else [])


@pytest.mark.parametrize(
    ("port", "lacking", "told"),
    [
        ("taken", "", "cannot listen on 127.0.0.1:"),
        ("99999", "", "cannot listen"),
        ("0", "pyspark.sql", "needs PySpark 4"),
    ],
)
def test_what_keeps_it_from_starting_is_told_in_a_line(
    console: Everybody,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    port: str,
    lacking: str,
    told: str,
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    if lacking:
        monkeypatch.setitem(sys.modules, lacking, None)
    if port == "taken":
        port = str(console.server_address[1])
    assert main(["connect-server", "--realm", "demo", "--port", port]) == 2
    errors = capsys.readouterr().err
    assert told in errors
    assert errors.count("\n") == 1
