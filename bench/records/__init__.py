"""A record of any length to measure with: a small shop, in which two kinds of things were done by turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# rows as the writer makes them, but for the digests, a second after one another: 40 people and 40 actors,
# 200 tables, a grant and a denial by turns; a quarter is done by a robot, which denies and never gives;
# of what is rare the short record too has a page, so that pages of one length are compared
PEOPLE = """
INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
SELECT 'user', 'p' || n, 'Person ' || n, 'person' || n, false FROM generate_series(0, 39) n
 UNION ALL
SELECT 'user', 'a' || n, 'Actor ' || n, 'actor' || n, false FROM generate_series(0, 39) n
 UNION ALL
SELECT 'service', 'robot', '', 'robot', false"""
CHANGES = (
    """
INSERT INTO policies_change (
    revision, kind, realm, at, actor, on_behalf_of, via, reason, request_id, previous, digest)
SELECT n, 'grant.added', {realm}, timestamptz '{began}' + n * interval '1 second',
       CASE WHEN n % 4 = 1 THEN 'robot' ELSE 'actor' || n % 40 END, '', 'api',
       CASE WHEN n % 200 = 0 THEN 'yearly closing' ELSE 'as asked' END, 'r' || n, '',
       md5(n::text) || md5(n::text)
  FROM generate_series({first}, {last}) n""",
    """
INSERT INTO policies_event (
    change_id, number, kind, object_type, object_name, object_key, lineage, people, data)
SELECT n, 0, CASE WHEN n % 2 = 0 THEN 'grant.added' ELSE 'denial.added' END, 'table',
       'demo/shop.sales.t' || n % 200, key, ARRAY[{realm}, {catalog}, {schema}, key]::bigint[],
       ARRAY['person' || n % 40],
       jsonb_build_object('privilege', 'SELECT_TABLE', 'holder', 'person' || n % 40)
  FROM (SELECT n, CASE WHEN n % 200 = 77 THEN {busy} ELSE 10000000 + n % 200 END AS key
          FROM generate_series({first}, {last}) n) numbered""",
    "UPDATE policies_counter SET revision = {last}",
    # as the database does by itself while a record grows
    "VACUUM ANALYZE policies_change",
    "VACUUM ANALYZE policies_event",
    "ANALYZE",
)


@dataclass(frozen=True)
class Shop:
    """Where the changes are made: `busy` is a table of which every 200th tells, `quiet` one that none does.

    `began` is the revision before the first of them.
    """

    root: Any
    schema: Any
    busy: Any
    quiet: Any
    began: int


def a_shop() -> Shop:
    """The shop of the tests with the auditor ada, who may read its tables and all of its history."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    from accounts import people
    from policies.models import Counter
    from policies.services import duties
    from tests.factories import AUTHORITY, BY, a_person, the, under
    from tests.policies.conftest import make_shop

    root = make_shop()
    for name in ("marek", "ada"):
        people.make_account(name)
    ada = a_person("ada", "staff", "analysts")
    duties.give(root, "view_history", ada, by=BY, authority=AUTHORITY)
    schema = the("schema", "shop.sales")
    [busy] = under(schema, "table", "t77")
    with connection.cursor() as cursor:
        cursor.execute(PEOPLE)
    return Shop(root, schema, busy, the("table", "shop.sales.orders"), Counter.objects.get().revision)


def lengthen(shop: Shop, changes: int) -> None:
    """Let the record go on until it has so many changes of its own."""
    from django.db import connection

    from policies.models import Change

    begun = Change.objects.order_by("revision").values_list("at", flat=True)[0]
    [catalog] = [node.id for node in shop.schema.above() if node.type == "catalog"]
    values = {
        "began": begun.isoformat(),
        "first": Change.objects.order_by("-revision")[0].revision + 1,
        "last": shop.began + changes,
        "realm": shop.root.id,
        "catalog": catalog,
        "schema": shop.schema.id,
        "busy": shop.busy.id,
    }
    with connection.cursor() as cursor:
        for statement in CHANGES:
            cursor.execute(statement.format(**values))
