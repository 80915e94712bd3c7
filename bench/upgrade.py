"""How long others wait while a large site of the oldest release is migrated to this version.

python bench/upgrade.py [EVENTS]
Real PostgreSQL, filled past the console: EVENTS (1,000,000) changes with an event each, a fifth as many
objects, a tenth as many people with a notice each, half of them with accounts, a twentieth as many rows of an
open review.  Processes that read and write each of these tables go on as old ones would, and each
statement is timed; a dump holds all tables as the migration begins.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from authzsite import embedded
from tests.upgrades import KEYS

ROOT = Path(__file__).resolve().parent.parent
EVENTS = 1_000_000
LIMIT = 2.0
"""Seconds that anybody may wait: one, as long as a migration waits for a lock (`LOCK_WITHIN`), and as
much for a machine that does something else too."""
OF_DUMP = 5.0
"""Seconds that the dump holds its tables."""
PAUSE = 0.01
MANY = """
INSERT INTO policies_change (revision, kind, realm, at, actor, on_behalf_of, via, reason, request_id,
       previous,
       digest)
SELECT n + 1000, 'grant.added', 1, now(), 'actor' || n % 40, '', 'api', 'as asked', 'r' || n, '', md5(n::text)
  FROM generate_series(1, {all}) n;
INSERT INTO policies_event (change_id, number, kind, object_type, object_name, object_key, lineage, people,
       data)
SELECT n + 1000, 0, 'grant.added', 'table', 'demo/shop.sales.t' || n % 200, 10000000 + n % 200,
       ARRAY[1, 2, 10000000 + n % 200]::bigint[], ARRAY['person' || n % 40],
       jsonb_build_object('privilege', 'SELECT_TABLE', 'holder', 'person' || n % 40, 'fact', 'grant:' || n)
       || CASE WHEN n % 2 = 0 THEN '{{"state": []}}'::jsonb ELSE '{{}}' END
  FROM generate_series(1, {all}) n;
INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
SELECT 'user', 'many' || n, 'Person ' || n, 'many' || n, false FROM generate_series(1, {all} / 10) n;
INSERT INTO accounts_user (password, is_superuser, username, first_name, last_name, email, is_staff,
       is_active,
       date_joined, theme, time_zone, principal_id, formats, unread, session_salt)
SELECT '!', false, name, '', '', '', false, true, now(), 'light', 'UTC', id, 'en-gb', 0, ''
  FROM accounts_principal WHERE name LIKE 'many%' AND id % 2 = 0;
INSERT INTO catalog_securable (realm_id, type, external_id, opened)
SELECT 1, 'table', 'many ' || n, 1 FROM generate_series(1, {all} / 5) n;
INSERT INTO catalog_detail (securable_id, comment, properties, columns, content)
SELECT id, '', '{{}}', '[]', '{{}}' FROM catalog_securable WHERE external_id LIKE 'many %';
INSERT INTO policies_notice (kind, key, text, link, urgent, made, how, recipient_id)
SELECT 'request', 'many ' || id, 'Ana asks', '', false, now(), 'none', id FROM accounts_principal,
       generate_series(1, 2) WHERE name LIKE 'many%' AND generate_series = 1;
INSERT INTO policies_review (title, purpose, state, scope, stages, stage, silence, reasons, bulk, pace,
       sample,
       revision, started, due, progress, lease, counts, digest, reminded, error, realm_id, starter_id)
SELECT 'Many', '', 'open', '{{}}', '[]', 0, 'keep', 'never', 0, 0, 0, 1, now(), now(), '{{}}', '', '{{}}', '',
       '[]', '', 1, min(id) FROM accounts_principal;
INSERT INTO policies_reviewrow (number, kind, key, content, role_name, lineage, type, what, place, pattern,
       privileges, effect, gives, facts, outside, people, objects_below, risks, far, rank, uses_told,
       peers_have,
       peers_of, change, advice, advised, ground, state, version, choice, takes, reason, quick, seen_twice,
       "default", outcome, proof, review_id)
SELECT n, 'grant', 'many' || n, '', '', '{{}}', 'table', 't', 't', '', '{{}}', 'allow', '[]', '{{}}',
       '{{}}', 1, 0,
       '{{}}', false, 4, false, 0, 0, '', '', '{{}}', '', 'open', 0, '', '{{}}', '', false, false, false, '',
       '{{}}', (SELECT max(id) FROM policies_review)
  FROM generate_series(1, {all} / 20) n;
"""
OTHERS = {
    "writes changes": """
INSERT INTO policies_change (revision, kind, realm, at, actor, on_behalf_of, via, reason, request_id,
       previous,
       digest)
SELECT max(revision) + 1, 'x', 1, now(), '', '', '', '', '', '', '' FROM policies_change""",
    "writes events": """
INSERT INTO policies_event (change_id, number, kind, object_type, object_name, lineage, people, data)
SELECT change_id, number + 1, kind, '', '', '{}', '{}', '{}' FROM policies_event ORDER BY id DESC LIMIT 1""",
    "writes people": "UPDATE accounts_principal SET erased = erased WHERE name = 'many1'",
    "writes accounts": "UPDATE accounts_user SET last_login = now() WHERE username = 'many2'",
    "writes objects": """
UPDATE catalog_detail SET comment = 'seen' WHERE securable_id = (SELECT min(securable_id) FROM
catalog_detail)""",
    "writes backends": "UPDATE policies_backend SET error = error",
    "writes reviews": "UPDATE policies_reviewrow SET reason = 'yes' WHERE key = 'many7'",
    "writes notices": """
UPDATE policies_notice SET read = now() WHERE id = (SELECT min(id) FROM policies_notice)""",
    "checks": """
SELECT count(*) FROM accounts_principal p LEFT JOIN policies_assignment a ON a.holder_id = p.id
  LEFT JOIN catalog_realm ON true WHERE p.name = 'ana'""",
}


class Other(threading.Thread):
    """A process beside the migration, and the longest that one of its statements took."""

    def __init__(self, url: str, statement: str, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.url, self.statement, self.over = url, statement, over
        self.longest, self.at, self.many = 0.0, 0.0, 0

    def run(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as line:
            while not self.over.is_set():
                start = time.perf_counter()
                line.execute(self.statement)
                took = time.perf_counter() - start
                self.many += 1
                if took > self.longest:
                    self.longest, self.at = took, start
                time.sleep(PAUSE)


def dump(url: str, held: threading.Event) -> None:
    """What pg_dump does to others: it reads every table in one transaction."""
    with psycopg.connect(url) as line:
        tables = line.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        names = ", ".join(f'"{name}"' for (name,) in tables.fetchall())
        line.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
        held.set()
        time.sleep(OF_DUMP)


def migrate(url: str, var: str, tree: Path) -> list[tuple[float, str]]:
    """When each migration began, by the clock of `time.perf_counter`."""
    environment = {**os.environ, **KEYS, "DATABASE_URL": url, "LAKEWARDEN_VAR": var}
    with subprocess.Popen(
        [sys.executable, "-u", "manage.py", "migrate"],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        begun = [(time.perf_counter(), line.strip()) for line in process.stdout or ()]
    if process.returncode:
        raise SystemExit("\n".join(text for _, text in begun[-5:]))
    return begun


def measure(server: embedded.PostgreSQL, events: int, var: str, tree: Path) -> bool:
    url = server.url()
    site = gzip.decompress((ROOT / "tests" / "upgrades" / "0.1.0.sql.gz").read_bytes())
    psql = [
        str(server.programs / "psql"),
        "--quiet",
        "--no-psqlrc",
        "--output=/dev/null",
        "--set=ON_ERROR_STOP=1",
    ]
    subprocess.run([*psql, url], input=site, check=True)
    fill = MANY.format(all=events).encode() + b"VACUUM ANALYZE;"
    subprocess.run([*psql, url], input=fill, check=True)
    over, held = threading.Event(), threading.Event()
    others = {name: Other(url, statement, over) for name, statement in OTHERS.items()}
    for other in others.values():
        other.start()
    dumping = threading.Thread(target=dump, args=(url, held))
    dumping.start()
    held.wait()
    start = time.perf_counter()
    begun = migrate(url, var, tree)
    took = time.perf_counter() - start
    print(f"{events:,} events: migrated in {took:.1f} s, {OF_DUMP:.0f} of them beside a dump")
    over.set()
    for thread in (*others.values(), dumping):
        thread.join()
    for name, other in others.items():
        during = next((text for at, text in reversed(begun) if at <= other.at), "before")
        print(f"  {name:16} {other.many:>6,} times, at most {other.longest:5.2f} s (after: {during})")
    return max(other.longest for other in others.values()) <= LIMIT


def main() -> int:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    tree = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT
    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        Path(folder).chmod(0o711)
        server = embedded.PostgreSQL(Path(folder) / "postgresql")
        server.start()
        try:
            good = measure(server, events, folder, tree)
        finally:
            server.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
