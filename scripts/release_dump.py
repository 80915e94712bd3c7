"""Keeps a small site of this version, to see that later versions migrate it.

python scripts/release_dump.py VERSION      writes tests/upgrades/VERSION.sql.gz and VERSION.json

The site is the demo, a Herd, a CDAP instance, somebody who was erased, and a signed checkpoint.  Its keys
are those of tests/upgrades, which everybody knows; its passwords belong to servers that are gone.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from authzsite.embedded import PostgreSQL

ROOT = Path(__file__).resolve().parents[1]
SITE = """
migrate --verbosity 0
facts --if-new
demo
createrealm herd herd --owner olivia
createrealm cdap cdap --owner marek --policy 4.3
entity cdap create namespace:ns1 dataset:ns1.orders stream:ns1.raw
addmember cdap user:mia user:noah user:marek
cdap create role readers
cdap grant actions READ on entity dataset:ns1.orders to role readers
cdap add role readers to user mia
cdap grant actions READ,WRITE on entity dataset:ns1.* to user noah
addmember demo user:zoe
assignrole demo shop_browse user:zoe
assignrole demo shop_browse user:zoe --remove
addmember demo user:zoe --remove
erase user:zoe --reason "No longer here"
duty demo/shop.sales review_access user:ada
addmember demo service:upgrades
addmember herd service:upgrades
addmember cdap service:upgrades
checkpoint
verify_audit
"""


def main(version: str) -> int:
    var = Path(tempfile.mkdtemp(prefix="lakewarden-release-"))
    from tests.upgrades import KEYS

    os.environ.update(KEYS, LAKEWARDEN_VAR=str(var), DJANGO_SETTINGS_MODULE="authzsite.settings")
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    from authzsite import embedded
    from authzsite.demo import shop

    target = ROOT / "tests" / "upgrades" / version
    server = embedded.console_database(var)
    try:
        make_site()
        target.with_name(f"{version}.sql.gz").write_bytes(gzip.compress(dump(server), mtime=0))
        # asked last, for the asking is on the record too
        target.with_name(f"{version}.json").write_text(json.dumps(answers(), indent=1) + "\n")
    finally:
        for each in (shop.server(var), server):
            each.stop()
        shutil.rmtree(var, ignore_errors=True)
    return 0


def make_site() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    for line in SITE.strip().splitlines():
        call_command(*shlex.split(line))


def dump(server: PostgreSQL) -> bytes:
    from authzsite import embedded

    command = [str(server.programs / "pg_dump"), "--no-owner", "--no-privileges", "--restrict-key=lakewarden"]
    database = server.url(database=embedded.CONSOLE)
    return subprocess.run([*command, database], check=True, stdout=subprocess.PIPE).stdout


def answers() -> dict[str, list[str]]:
    from tests.upgrades.today import decisions

    return dict(decisions())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1]))
