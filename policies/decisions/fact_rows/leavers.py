"""Who the directory says has left, read with the facts of whom is asked about, in the same statement."""

from __future__ import annotations

STATEMENT = """
UNION ALL
SELECT 'left', e.principal_id, NULL, NULL, NULL, {nothing}
  FROM accounts_directoryentry e JOIN asked ON asked.id = e.principal_id WHERE NOT e.is_active
"""
