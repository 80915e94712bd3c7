"""Whom facts lead to, with their seals, read in the same statement: those asked about, their groups, and who
has a name like theirs."""

from __future__ import annotations

STATEMENT = """
UNION ALL
SELECT 'principal', p.id, p.erased::int, p.name, p.kind, NULL, NULL, p.edition, p.id, p.pseudonym,
       NULL, p.seal, p.display_name, NULL, NULL
  FROM accounts_principal p
  JOIN (SELECT id FROM asked UNION SELECT group_id FROM membership UNION SELECT holder_id FROM alias) e
    ON e.id = p.id
"""
