"""Names that objects may bear, and what may be said about them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from django.utils.translation import gettext

from accounts.text import holdable
from policies.errors import Invalid
from policies.sentences import sentence

LONGEST = 255
LEGAL = re.compile(r"\w[\w/=-]{0,63}")
"""What Gravitino 1.3 lets people call a thing that they make."""
HAS_CONTROLS = sentence(
    "name.has_controls", "{type} {what} cannot be governed: its name has control characters"
)
OF_NO_LENGTH = sentence(
    "name.of_no_length", "{type} {what} cannot be governed: its name is not 1 to {most} characters"
)


def checked(name: str) -> str:
    """The name unchanged, or Invalid: 1 to 255 characters, none of them a control character."""
    if not name or len(name) > LONGEST:
        raise Invalid(gettext("A name has 1 to %(most)s characters.") % {"most": LONGEST})
    if any(map(_controls, name)):
        raise Invalid(gettext("A name has no control characters."))
    return name


def legal(name: str) -> str:
    """A name that somebody may give in a metalake, unchanged, or Invalid."""
    if not LEGAL.fullmatch(name):
        raise Invalid(
            gettext(
                "A name begins with a letter, a digit or _, and goes on with those, /, = or -. "
                "It has at most 64 characters."
            )
        )
    return name


def flaw(name: str) -> str:
    """The code of what keeps a name from being borne by an object; "" when nothing does."""
    try:
        checked(name)
    except Invalid:
        return HAS_CONTROLS if any(map(_controls, name)) else OF_NO_LENGTH
    return ""


def escaped(text: str) -> str:
    """A text for people, with what controls or cannot be kept written out."""
    return "".join(
        letter.encode("unicode_escape", "backslashreplace").decode() if _controls(letter) else letter
        for letter in text
    )


def _controls(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs")


def check_described(*values: object) -> None:
    """Raise Invalid when comments, properties or columns hold text that cannot be kept."""
    if not all(map(holdable, _texts(values))):
        raise Invalid(gettext("A description has no NUL and no half characters."))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
