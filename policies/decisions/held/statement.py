"""What is read anew each time that held facts are used: who was touched since, and who owns the objects."""

from __future__ import annotations

NEVER = 2**63 - 1
"""The revision at which whoever is known to have a row without a good seal was touched: later than any."""
_NOTHING = ", ".join(["NULL"] * 10)

STATEMENT = f"""
WITH counter AS MATERIALIZED (SELECT revision FROM policies_counter)
SELECT 'revision', (SELECT revision FROM counter),
       (SELECT max(upto) FROM policies_archive WHERE realm_id = %(realm)s AND state <> 'written'),
       NULL::text, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::bigint, NULL::bigint, NULL::text,
       NULL::bigint, NULL::bytea, NULL::text, NULL::text, NULL::bigint
UNION ALL
SELECT 'mode', NULL, NULL, c.mode, NULL, c.valid_from, c.valid_until, c.opened, c.id, NULL,
       c.closed, c.seal, c.origin, NULL, c.realm_id
  FROM catalog_mode c WHERE c.realm_id = %(realm)s AND c.closed IS NULL
UNION ALL
SELECT 'owner', o.owner_id, o.securable_id, NULL, NULL, o.valid_from, o.valid_until, o.opened, o.id, NULL,
       o.closed, o.seal, o.origin, NULL, NULL
  FROM policies_ownership o WHERE o.securable_id = ANY(%(objects)s) AND o.closed IS NULL
UNION ALL
SELECT 'moved', t.revision, NULL, t.key, n.name, {_NOTHING}
  FROM policies_touch t
  LEFT JOIN catalog_placement n
    ON n.closed IS NULL AND t.key LIKE 's:%%' AND n.securable_id = substr(t.key, 3)::bigint
 WHERE (SELECT revision FROM counter) > %(since)s AND t.revision > %(since)s
UNION ALL
SELECT 'moved', {NEVER}, NULL, u.key, NULL, {_NOTHING} FROM policies_unsealedfact u
"""  # noqa: S608 - no outside text
"""One snapshot.  Without a change since then no touch is looked for; of touched roles it has the names."""

MEMBERS = """
SELECT c.revision, m.principal_id, p.kind FROM policies_counter c
  LEFT JOIN policies_realmmember m ON m.realm_id = %(realm)s AND m.closed IS NULL
  LEFT JOIN accounts_principal p ON p.id = m.principal_id
 ORDER BY m.principal_id"""
"""All whom a realm admits, and the revision at which it does."""
