"""What parts are worth: the format `lakewarden` reads 200,000 grants in one part, and in two.

python bench/source.py [ROWS]
Real PostgreSQL, the console behind gunicorn with two workers, Spark on two cores; one run after the other.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

FASTER, ROUNDS, WAIT = 1.5, 3, 60
FILL = """
WITH made AS (
    INSERT INTO catalog_securable (realm_id, type, external_id, opened)
    SELECT {realm}, 'table', '', 1 FROM generate_series(1, {tables}) RETURNING id),
placed AS (
    INSERT INTO catalog_placement (securable_id, type, name, parent_id, scope_id, ancestors, opened, origin)
    SELECT id, 'table', 'table_' || id, {schema}, {schema}, ARRAY[{lineage}]::bigint[], 1, 'hand' FROM made)
INSERT INTO policies_grant (role_id, privilege, written, effect, securable_id, pattern, opened, origin)
SELECT {role}, code, '', 'allow', id, '', 1, 'hand'
  FROM made CROSS JOIN unnest(ARRAY['SELECT_TABLE', 'MODIFY_TABLE']) code"""


def fill(rows: int) -> str:
    """So many grants in realm demo; answers the token of its owner."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from tests import bulk
    from tests.api.world import token
    from tests.factories import the
    from tests.policies.conftest import make_shop

    root = make_shop()
    schema, role = the("schema", "shop.sales"), the("role", "browse")
    values = {"realm": root.realm_id, "schema": schema.id, "role": role.id, "tables": rows // 2}
    bulk.run([FILL.format(**values, lineage=",".join(map(str, schema.lineage))), "ANALYZE"])
    return str(token("user", "marek"))


def serve(port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, "--log-level", "error", "authzsite.wsgi"], cwd=ROOT)
    for _ in range(WAIT):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=2):
                return process
        except OSError:
            time.sleep(1)
    raise SystemExit("the console did not come up")


def measured(url: str, token: str, rows: int) -> dict[int, float]:
    """Median seconds for one part and for two."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spent: dict[int, list[float]] = {1: [], 2: []}
    for number in range(ROUNDS + 1):
        for splits in spent:
            options = {"url": url, "token": token, "realm": "demo", "view": "grants", "splits": str(splits)}
            frame = spark.read.format("lakewarden").options(**options).load()
            start = time.perf_counter()
            count = frame.count()
            assert count >= rows, count
            if number:  # the first round starts the workers
                spent[splits].append(time.perf_counter() - start)
    spark.stop()
    return {splits: median(times) for splits, times in spent.items()}


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    token = fill(rows)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    console = serve(port)
    try:
        times = measured(f"http://127.0.0.1:{port}", token, rows)
    finally:
        console.terminate()
        console.wait(20)
    for splits, seconds in times.items():
        print(f"{splits} part(s) {seconds:6.1f} s {rows / seconds:9,.0f} rows/s")
    faster = times[1] / times[2]
    print(f"two parts are {faster:.2f} times as fast (at least {FASTER})")
    return 0 if faster >= FASTER else 1


def run() -> int:
    from bench.servers import own_server

    with own_server():
        return main()


if __name__ == "__main__":
    sys.exit(run())
