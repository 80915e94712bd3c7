"""A lake to measure on: `build(SIZES["M"])` in an empty database, past the services, which take minutes.

Everybody holds a few roles of their own choice and is in a few groups, so that hardly two people hold the
same; some roles are broad, some deny, and every table has an owner.  The same size is always the same world.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple


class Size(NamedTuple):
    tables: int
    people: int
    grants: int


SIZES = {"S": Size(1_000, 100, 1_500), "M": Size(10_000, 1_000, 12_000), "L": Size(100_000, 10_000, 60_000)}
IN_A_SCHEMA, IN_A_CATALOG = 1_000, 5
"""Tables in a schema, and schemas in a catalog."""
BROAD = 10
CODES = ("SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE")

_OBJECTS = """
WITH made AS (
    INSERT INTO catalog_securable (realm_id, type, external_id, opened)
    SELECT {realm}, '{type}', '', 1 FROM generate_series(1, {many}) RETURNING id),
numbered AS (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM made)
INSERT INTO catalog_placement (securable_id, type, name, parent_id, scope_id, ancestors, opened, origin)
SELECT m.id, '{type}', '{prefix}' || lpad(n::text, 6, '0'), p.securable_id, p.securable_id,
       p.ancestors || p.securable_id, 1, 'hand'
  FROM numbered m JOIN (
       SELECT securable_id, ancestors, row_number() OVER (ORDER BY securable_id) - 1 AS at
         FROM catalog_placement WHERE type = '{above}' AND closed IS NULL) p ON p.at = n / {each}"""

_PRINCIPALS = """
WITH made AS (
    INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
    SELECT '{kind}', '{prefix}' || lpad(n::text, 6, '0'), '', '{prefix}' || n, false
      FROM generate_series(0, {many} - 1) n RETURNING id)
INSERT INTO policies_realmmember (realm_id, principal_id, opened, origin)
SELECT {realm}, id, 1, 'hand' FROM made"""


def build(size: Size) -> Any:
    """Migrate and fill: the root of the realm `demo`."""
    from django.core.management import call_command
    from django.db import connection

    from policies.sync.backends.shared.bounded_connection import patience
    from tests import bulk
    from tests.factories import a_metalake

    call_command("migrate", verbosity=0)
    root = a_metalake()
    schemas = max(size.tables // IN_A_SCHEMA, 1)
    catalogs = max(schemas // IN_A_CATALOG, 1)
    roles = max(size.people // 10, BROAD * 2)
    bulk.run(
        [
            _OBJECTS.format(realm=root.realm_id, type=type, many=many, prefix=prefix, above=above, each=each)
            for type, many, prefix, above, each in (
                ("catalog", catalogs, "c", "metalake", catalogs),
                ("schema", schemas, "s", "catalog", -(-schemas // catalogs)),
                ("table", size.tables, "t", "schema", size.tables // schemas),
                ("role", roles, "role", "metalake", roles),
            )
        ]
        + [
            _PRINCIPALS.format(realm=root.realm_id, kind=kind, many=many, prefix=prefix)
            for kind, many, prefix in (("user", size.people, "u"), ("group", size.people // 20, "g"))
        ]
    )
    with patience(600), connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself a minute after such a load
        _facts(root, size)
        cursor.execute("ANALYZE")
    return root


def _facts(root: Any, size: Size) -> None:
    from accounts.models import Membership, Principal
    from catalog.models import Placement
    from policies.models import Assignment, Grant, Ownership
    from tests import bulk

    pick = random.Random(7)

    def numbers(type: str) -> list[int]:
        rows = Placement.objects.open().filter(type=type, ancestors__contains=[root.id])
        return list(rows.order_by("securable").values_list("securable", flat=True))

    tables, schemas, catalogs, roles = map(numbers, ("table", "schema", "catalog", "role"))
    people = list(Principal.objects.filter(kind="user", name__startswith="u0").order_by("pk"))
    groups = list(Principal.objects.filter(kind="group").order_by("pk"))

    def grant(role: int, code: str, on: int, effect: str = "allow") -> Grant:
        return Grant(role_id=role, privilege=code, securable_id=on, effect=effect)

    given = {}
    for number, role in enumerate(roles):
        given[role, "USE_CATALOG", root.id] = "allow"
        given[role, "USE_SCHEMA", root.id] = "allow"
        if number < BROAD:
            given[role, "SELECT_TABLE", catalogs[number % len(catalogs)]] = "allow"
    while len(given) < size.grants:
        role, code, at = pick.choice(roles), pick.choice(CODES), pick.random()
        on = pick.choice(tables if at < 0.8 or code == "CREATE_TABLE" else schemas)
        code = "SELECT_TABLE" if code == "CREATE_TABLE" else code
        given[role, code, on] = "deny" if pick.random() < 0.05 else "allow"
    bulk.put([grant(*key, effect) for key, effect in given.items()], 1)
    held = {(pick.choice(roles[:BROAD]), group.pk) for group in groups}
    held |= {(pick.choice(roles), person.pk) for person in people for _ in range(3)}
    bulk.put([Assignment(role_id=role, holder_id=holder) for role, holder in sorted(held)], 1)
    inside = {(pick.choice(groups).pk, person.pk) for person in people for _ in range(2)}
    bulk.put([Membership(group_id=group, member_id=member) for group, member in sorted(inside)], 1)
    owned = [Ownership(securable_id=table, owner_id=pick.choice(people).pk) for table in tables]
    owned += [Ownership(securable_id=schema, owner_id=pick.choice(groups).pk) for schema in schemas]
    bulk.put(owned, 1)
