"""Whom facts were about that were closed or deleted past the console, read in the same statement.

Those that are open are met and judged by their seals; of these one was perhaps a denial.
"""

from __future__ import annotations

STATEMENT = """
UNION ALL
SELECT 'lost', NULL, NULL, u.key, NULL, {nothing} FROM policies_unsealedfact u
 WHERE u.writer = '' OR u.content ->> 'closed' IS NOT NULL
"""
