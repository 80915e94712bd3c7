"""Every fact that matters to some principals in one realm, as one statement, which is one snapshot."""

from __future__ import annotations

from functools import cache

from policies.decisions import role_facts
from policies.decisions.fact_rows import leavers, lost_facts, principal_rows

_STATEMENT = """
WITH asked AS (SELECT unnest(%(principals)s::bigint[]) AS id),
membership AS (
    SELECT m.*,
           %(open)s OR EXISTS (SELECT FROM policies_realmmember g
                    WHERE g.principal_id = m.group_id AND g.realm_id = %(realm)s AND {g}) AS admitted
      FROM accounts_membership m JOIN asked ON asked.id = m.member_id
     WHERE {m}),
holders AS (SELECT id FROM asked UNION SELECT group_id FROM membership WHERE admitted),
named AS (
    SELECT p.id, p.name FROM accounts_principal p JOIN asked ON asked.id = p.id
     WHERE p.kind IN ('user', 'service')
    UNION ALL SELECT * FROM unnest(%(strangers)s::bigint[], %(names)s::text[])),
alias AS (
    SELECT n.id, p.id AS holder_id, p.kind, p.name
      FROM named n JOIN accounts_principal p
        ON p.kind = 'user' AND upper(p.name) = upper(btrim(n.name)) AND p.id <> n.id
     WHERE %(by_name)s
    UNION ALL
    SELECT n.id, p.id, p.kind, p.name
      FROM named n JOIN accounts_principal p
        ON p.kind = 'pattern'
       AND upper(right(btrim(n.name), length(p.name) - 1)) = upper(substr(p.name, 2))
     WHERE %(by_name)s),
direct AS (SELECT id FROM holders UNION SELECT holder_id FROM alias),
assignment AS (
    SELECT a.*
      FROM policies_assignment a JOIN holders ON holders.id = a.holder_id
      JOIN catalog_securable r ON r.id = a.role_id AND r.realm_id = %(realm)s
     WHERE {a}),
roles AS (SELECT role_id FROM assignment UNION SELECT unnest(%(roles)s::bigint[])){unheld}
SELECT 'revision', (SELECT revision FROM policies_counter),
       (SELECT max(upto) FROM policies_archive WHERE realm_id = %(realm)s AND state <> 'written'),
       NULL::text, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::bigint, NULL::bigint, NULL::text,
       NULL::bigint, NULL::bytea, NULL::text, NULL::text, NULL::bigint
UNION ALL
SELECT 'realm', s.id, NULL, r.settings::text, r.kind, NULL, NULL, r.edition, r.id, NULL,
       NULL, r.seal, NULL, NULL, r.id
  FROM catalog_realm r JOIN catalog_placement t ON t.parent_id IS NULL AND {t}
  JOIN catalog_securable s ON s.id = t.securable_id AND s.realm_id = r.id
 WHERE r.id = %(realm)s AND %(by_text)s
UNION ALL
SELECT 'mode', NULL, NULL, c.mode, NULL, c.valid_from, c.valid_until, c.opened, c.id, NULL,
       c.closed, c.seal, c.origin, NULL, c.realm_id
  FROM catalog_mode c WHERE c.realm_id = %(realm)s AND {c}
UNION ALL
SELECT 'member', m.principal_id, NULL, NULL, NULL, m.valid_from, m.valid_until, m.opened, m.id, NULL,
       m.closed, m.seal, m.origin, NULL, m.realm_id
  FROM policies_realmmember m
  JOIN (SELECT id FROM asked UNION SELECT group_id FROM membership) e ON e.id = m.principal_id
 WHERE m.realm_id = %(realm)s AND {m}
UNION ALL
SELECT 'group', m.member_id, m.group_id, p.name, NULL, m.valid_from, m.valid_until, m.opened, m.id, NULL,
       m.closed, m.seal, m.origin, NULL, NULL
  FROM membership m JOIN accounts_principal p ON p.id = m.group_id
UNION ALL
SELECT 'role', a.holder_id, a.role_id, n.name, NULL, a.valid_from, a.valid_until, a.opened, a.id, NULL,
       a.closed, a.seal, a.origin, NULL, NULL
  FROM assignment a {named} catalog_placement n ON n.securable_id = a.role_id AND {n}
UNION ALL
SELECT 'grant', g.role_id, g.securable_id, g.privilege, g.effect,
       g.valid_from, g.valid_until, g.opened, g.id, g.pattern,
       g.closed, g.seal, g.origin, g.written, g.realm_id
  FROM policies_grant g JOIN {roles} ON roles.role_id = g.role_id WHERE {g}{on_g}
UNION ALL
SELECT 'alias', a.id, a.holder_id, a.name, a.kind, {nothing} FROM alias a
UNION ALL
SELECT 'direct', d.holder_id, d.securable_id, d.privilege, d.effect,
       d.valid_from, d.valid_until, d.opened, d.id, d.pattern,
       d.closed, d.seal, d.origin, d.written, d.realm_id
  FROM policies_grant d JOIN direct ON direct.id = d.holder_id
  JOIN catalog_securable s ON s.id = d.securable_id AND s.realm_id = %(realm)s
 WHERE {d}{on_d}
UNION ALL
SELECT 'direct', d.holder_id, NULL, d.privilege, d.effect,
       d.valid_from, d.valid_until, d.opened, d.id, d.pattern,
       d.closed, d.seal, d.origin, d.written, d.realm_id
  FROM policies_grant d JOIN direct ON direct.id = d.holder_id
 WHERE d.realm_id = %(realm)s AND d.securable_id IS NULL AND {d}
UNION ALL
SELECT 'owner', o.owner_id, o.securable_id, NULL, NULL, o.valid_from, o.valid_until, o.opened, o.id, NULL,
       o.closed, o.seal, o.origin, NULL, NULL
  FROM policies_ownership o JOIN holders ON holders.id = o.owner_id
  JOIN catalog_securable s ON s.id = o.securable_id AND s.realm_id = %(realm)s
 WHERE {o}{on_o}{asked}{left}{lost}{names}
"""


@cache
def statement_of(*, past: bool, narrowed: bool, sharing: bool = False) -> str:
    def true(alias: str) -> str:
        if past:
            started, open_ = f"{alias}.opened <= %(last)s", f"{alias}.closed IS NULL"
            return f"{started} AND ({open_} OR {alias}.closed > %(first)s)"
        return f"{alias}.closed IS NULL"

    def on(alias: str) -> str:
        on_these = f"{alias}.securable_id = ANY(%(objects)s)"
        by_text = " OR g.securable_id IS NULL" if alias == "g" else ""
        # shared roles and a person's own denials come whole, as their seals speak of the whole
        return f" AND ({on_these}{by_text})" if narrowed and (alias == "o" or not sharing) else ""

    nothing = ", ".join(["NULL"] * 10)
    parts = {
        "unheld": role_facts.UNHELD if sharing else "",
        "roles": "unheld roles" if sharing else "roles",
        "asked": role_facts.TOLD.format(nothing=nothing) if sharing else "",
        "left": "" if past else leavers.STATEMENT.format(nothing=nothing),
        "lost": "" if past else lost_facts.STATEMENT.format(nothing=nothing),
        # a role that stands nowhere now lost its place past the console, and may have denied something
        "named": "JOIN" if past else "LEFT JOIN",
    }
    parts["names"] = principal_rows.STATEMENT
    parts |= {f"on_{alias}": on(alias) for alias in "gdo"} | {alias: true(alias) for alias in "macgdnot"}
    return _STATEMENT.format(nothing=nothing, **parts)
