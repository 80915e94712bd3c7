"""Whom facts lead to, with their seals, read in the same statement: those asked about, their groups, and who
has a name like theirs."""

from __future__ import annotations

_ROWS = """
SELECT 'principal', p.id, p.erased::int, p.name, p.kind, NULL, NULL, p.edition, p.id, p.pseudonym,
       NULL, p.seal, p.display_name, NULL, NULL
  FROM accounts_principal p"""
STATEMENT = f"""
UNION ALL{_ROWS}
  JOIN (SELECT id FROM asked UNION SELECT group_id FROM membership UNION SELECT holder_id FROM alias) e
    ON e.id = p.id
"""  # noqa: S608 - no outside text
OF_SOME = _ROWS + " WHERE p.id = ANY(%s::bigint[]) ORDER BY p.id"
"""The same of some, whose numbers are given as the text of an array, for there can be thousands."""
