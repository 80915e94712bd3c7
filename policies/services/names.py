"""Names that objects may bear."""

from __future__ import annotations

import unicodedata

from policies.errors import Invalid

LONGEST = 255


def checked(name: str) -> str:
    """The name unchanged, or Invalid: 1 to 255 characters, none of them a control character."""
    if not name or len(name) > LONGEST:
        raise Invalid(f"A name has 1 to {LONGEST} characters.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise Invalid("A name has no control characters.")
    return name
