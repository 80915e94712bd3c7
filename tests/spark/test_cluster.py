"""A master and two workers from the PySpark that pip installed, our package as a zip: jobs run on both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

import psutil

from policies.decisions import slices
from policies.models import Counter
from policies.record.exports import parquet
from scripts import package
from tests.api.world import Shop, make_shop, token
from tests.client.site import Site
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
JOB = '''
import json, os, sys, time
import lakewarden
from pyspark.sql import SparkSession
from pyspark_lakewarden import register

def told(batches):
    """Where each row was read, and by which copy of the package."""
    import pyarrow as pa
    for batch in batches:
        time.sleep(float(os.environ.get("SLOWLY", "0")))
        there = {"place": [os.getcwd()] * len(batch), "code": [lakewarden.__file__] * len(batch)}
        yield pa.RecordBatch.from_pydict({"object": batch["object"], **there})

spark = SparkSession.builder.appName("who").getOrCreate()
register(spark)
options = {"realm": "demo", "view": "grants", "page": "1", "splits": "4"}
frame = spark.read.format("lakewarden").options(**options).load()
rows = frame.mapInArrow(told, "object string, place string, code string").collect()
print("FOUND", json.dumps([row.asDict() for row in rows]))
'''


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory, java: str) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    command = [sys.executable, str(ROOT / "scripts" / "cluster.py"), "--workers", "2", "--port", str(port)]
    process = subprocess.Popen([*command, "--folder", str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    yield line.strip().removeprefix("SPARK_MASTER=")
    process.terminate()
    process.stdout.close()
    assert process.wait(120) == 0


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "lakewarden.zip"
    package.pack(target)
    return target


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    slices.forget_all()
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def shop(site: Site) -> Shop:
    shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE", "MODIFY_TABLE")
    for name in ("orders", "items", "plans"):
        shop.allow(shop.tables[name], "SELECT_TABLE")
    return shop


def submit(
    master: str, archive: Path, job: Path, *words: str, place: Path | None = None, **variables: str
) -> subprocess.Popen[str]:
    """Start a job as anybody would, from a folder in which there is nothing of ours."""
    import pyspark

    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", master]
    settings = ["spark.executor.memory=512m", "spark.ui.enabled=false", "spark.driver.host=127.0.0.1"]
    command += [word for setting in settings for word in ("--conf", setting)]
    unknown = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH",)}
    return subprocess.Popen(
        [*command, "--py-files", str(archive), str(job), *words],
        env={**unknown, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **variables},
        cwd=place or job.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def found(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    out, trouble = process.communicate(timeout=600)
    assert process.returncode == 0, trouble[-3000:]
    [line] = [line for line in out.splitlines() if line.startswith("FOUND ")]
    rows: list[dict[str, Any]] = json.loads(line.removeprefix("FOUND "))
    return rows


def reading(site: Site, **more: str) -> dict[str, str]:
    return {"LAKEWARDEN_URL": site.url, "LAKEWARDEN_TOKEN": token("user", "marek"), **more}


GRANTED = [
    "demo/shop",
    *["demo/shop.sales"] * 3,
    "demo/shop.sales.items",
    "demo/shop.sales.orders",
    "demo/shop.secret.plans",
]


def test_the_format_is_read_on_two_executors(
    master: str, archive: Path, shop: Shop, site: Site, tmp_path: Path
) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    rows = found(submit(master, archive, job, **reading(site)))
    assert sorted(row["object"] for row in rows) == GRANTED
    assert len({row["place"] for row in rows}) == 2
    assert all("lakewarden.zip/" in row["code"] for row in rows)


def test_an_executor_that_is_killed_costs_time_alone(
    master: str, archive: Path, shop: Shop, site: Site, tmp_path: Path
) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    process = submit(master, archive, job, **reading(site), SLOWLY="2")
    try:
        executor = at_work(master)
        executor.kill()
        rows = found(process)
    finally:
        process.kill()
        process.communicate()
    assert sorted(row["object"] for row in rows) == GRANTED


def at_work(master: str) -> Any:
    """An executor of that master with a Python worker of its own, which has begun a task."""
    for _ in range(600):
        for item in psutil.process_iter(["cmdline"]):
            if is_at_work(item, item.info["cmdline"] or [], master):
                time.sleep(1)
                return item
        time.sleep(0.2)
    raise AssertionError("no executor began")


def is_at_work(one: Any, words: list[str], master: str) -> bool:
    if not any("CoarseGrainedExecutorBackend" in word for word in words):
        return False
    with suppress(psutil.Error):  # it may end while it is looked at
        mine = any(master in parent.cmdline() for parent in one.parents())
        return mine and any("pyspark.daemon" in child.cmdline() for child in one.children())
    return False


def test_effective_access_is_the_same_there_and_here(
    master: str, archive: Path, shop: Shop, tmp_path: Path
) -> None:
    """By spark-submit on the cluster, and as the worker starts it, on a Spark in the driver itself."""
    parquet.export(shop.realm, Counter.objects.get().revision, tmp_path / "input")

    def words(name: str) -> list[str]:
        places = ["--input", str(tmp_path / "input"), "--output", str(tmp_path / name)]
        return ["effective_access", "--alone", *places]

    program = ROOT / "lakewarden" / "spark" / "pipelines" / "__main__.py"
    submitted = submit(master, archive, program, *words("there"), place=tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(archive), "PYSPARK_PYTHON": sys.executable}
    started = subprocess.Popen(
        [sys.executable, "-m", "lakewarden.spark.pipelines", *words("here"), "--master", "local[1]"],
        env=environment | {"SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    results = {}
    for name, process in (("there", submitted), ("here", started)):
        out, trouble = process.communicate(timeout=600)
        assert process.returncode == 0, out[-2000:] + trouble[-2000:]
        results[name] = json.loads((tmp_path / name / "summary.json").read_text())
    assert results["there"] == results["here"] and results["there"]["sampled"] > 0
