"""What a hint says beside numbers, as codes with values; the console has the words for them."""

from __future__ import annotations

from typing import Any

OWNER_CLOSED, NO_OWNER = "hint.owner_closed", "hint.no_owner"
TODAY, DAYS_AGO = "hint.granted_today", "hint.granted"
ABOVE, HERE, ON_TEXT, SAME_NAME = "hint.above", "hint.here", "hint.on_text", "hint.same_name"
DENIED_TOO = "hint.denied_too"
ROLES, GRANTS, OWNED = "hint.roles", "hint.grants", "hint.owned"

Phrase = dict[str, Any]


def phrase(code: str, **values: Any) -> Phrase:
    """One phrase; `many` is the number that it counts."""
    return {"said": code, "values": values}
