"""What a snapshot costs: seconds and memory for a realm of few facts, and for one of a million.

python bench/export.py [FACTS]
Real PostgreSQL; memory is what the process grows by, each realm in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

GROWTH = 1.5
"""How much more memory a million facts may take than a tenth of them."""

# tables in schemas of a thousand, roles with grants on them; rows as the writer makes them
WORLD = (
    """
WITH made AS (
    INSERT INTO catalog_securable (realm_id, type, external_id, opened)
    SELECT {realm}, 'table', '', 1 FROM generate_series(1, {tables}) RETURNING id)
INSERT INTO catalog_placement (securable_id, type, name, parent_id, scope_id, ancestors, opened, origin)
SELECT id, 'table', 'table_' || id, {schema}, {schema}, ARRAY[{lineage}]::bigint[], 1, 'hand' FROM made""",
    """
WITH made AS (
    INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
    SELECT 'user', 'user_' || n, '', 'bench' || n, false FROM generate_series(1, {people}) n RETURNING id)
INSERT INTO policies_realmmember (realm_id, principal_id, opened, origin)
SELECT {realm}, id, 1, 'hand' FROM made""",
    """
INSERT INTO policies_assignment (role_id, holder_id, opened, origin)
SELECT {role}, m.principal_id, 1, 'hand' FROM policies_realmmember m
  JOIN accounts_principal p ON p.id = m.principal_id AND p.name LIKE 'user\\_%'""",
    """
INSERT INTO policies_grant (role_id, privilege, written, effect, securable_id, pattern, opened, origin)
SELECT {role}, code, '', 'allow', p.securable_id, '', 1, 'hand'
  FROM catalog_placement p
  CROSS JOIN unnest(ARRAY['SELECT_TABLE', 'MODIFY_TABLE', 'CREATE_TABLE', 'MANAGE_GRANTS']) code
 WHERE p.type = 'table' AND p.name LIKE 'table\\_%'""",
    "ANALYZE",
)


def fill(facts: int) -> None:
    """About so many rows: five for each table, three for each person."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from tests import bulk
    from tests.factories import the
    from tests.policies.conftest import make_shop

    root = make_shop()
    schema, role = the("schema", "shop.sales"), the("role", "browse")
    values = {
        "realm": root.realm_id,
        "schema": schema.id,
        "role": role.id,
        "lineage": ",".join(map(str, schema.lineage)),
        "tables": facts * 9 // 10 // 5,
        "people": facts // 10 // 3,
    }
    bulk.run([statement.format(**values) for statement in WORLD])


def measure(facts: int) -> None:
    """Fill a database, or tell `rows seconds megabytes` of exporting it in a process that does only that."""
    import django

    django.setup()
    if "--export" not in sys.argv:
        fill(facts)
        return
    from catalog.queries import realm_named, root
    from policies.models import Counter
    from policies.record.exports import parquet

    realm = realm_named("demo")
    assert realm is not None
    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        exported = parquet.export(root(realm), Counter.objects.get().revision, Path(folder) / "input")
        spent = time.perf_counter() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(exported.rows, spent, grown / 1024)


def run(facts: int) -> tuple[int, float, float]:
    """Rows, seconds and megabytes of one realm on a server of its own."""
    from bench.servers import own_server

    with own_server():
        command = [sys.executable, __file__, str(facts), "--measure"]
        subprocess.run(command, check=True)
        process = subprocess.run([*command, "--export"], check=True, stdout=subprocess.PIPE, text=True)
    rows, seconds, megabytes = process.stdout.split()
    return int(rows), float(seconds), float(megabytes)


def main() -> int:
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    (few, quick, small), (many, long, large) = run(facts // 10), run(facts)
    for rows, seconds, megabytes in ((few, quick, small), (many, long, large)):
        rate = f"{rows:9,} rows {seconds:7.1f} s {rows / seconds:9,.0f} rows/s"
        print(f"{rate}, memory grew by {megabytes:.0f} MB")
    print(f"{many / few:.1f} times the rows take {large / small:.2f} times the memory (limit {GROWTH})")
    return 0 if large <= GROWTH * small else 1


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure(int(sys.argv[1]))
    else:
        sys.exit(main())
