"""What a hint's data say, as pipelines find them, in the language that is spoken now.

Hints from before are kept in English alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lakewarden.spark.pipelines import hint_phrases
from policies.sentences import BOTH, Said, filled, joined, read_back, say, sentence

CLOSED = sentence("hint.closed", "Can no longer sign in")
OWNER_CLOSED = sentence(hint_phrases.OWNER_CLOSED, "Its owner can no longer sign in")
NO_OWNER = sentence(hint_phrases.NO_OWNER, "Nobody owns it")
IDLE_SINCE = sentence("hint.idle_since", "Not active here since {seen}; no job reported a use since {used}")
IDLE = sentence("hint.idle", "Not active here since {seen}, and no job reported a use")
UNSEEN_SINCE = sentence("hint.unseen_since", "Never active here; no job reported a use since {used}")
UNSEEN = sentence("hint.unseen", "Never active here, and no job reported a use")
TODAY = sentence(hint_phrases.TODAY, "; granted today")
DAYS_AGO = sentence(hint_phrases.DAYS_AGO, "; granted a day ago", "; granted {many} days ago")
ABOVE = sentence(hint_phrases.ABOVE, "what is granted above")
HERE = sentence(hint_phrases.HERE, "another grant here", "{many} other grants here")
ON_TEXT = sentence(hint_phrases.ON_TEXT, "what is granted on {name}")
SAME_NAME = sentence(hint_phrases.SAME_NAME, "another grant on the same name")
DENIED_TOO = sentence(hint_phrases.DENIED_TOO, ", because {others} denies it too")
HELD = (
    sentence(hint_phrases.ROLES, "{many} role", "{many} roles"),
    sentence(hint_phrases.GRANTS, "{many} grant", "{many} grants"),
    sentence(hint_phrases.OWNED, "{many} object of its own", "{many} objects of its own"),
)
_OF = {
    "why": (CLOSED, OWNER_CLOSED, NO_OWNER, IDLE_SINCE, IDLE, UNSEEN_SINCE, UNSEEN),
    "given": (TODAY, DAYS_AGO),
    "others": (DENIED_TOO, ABOVE, HERE, SAME_NAME, ON_TEXT),
    "holds": (BOTH, *HELD),
}
"""Which sentences each value of a hint's data may be."""


def asleep(last: datetime | None, used: datetime | None) -> Said:
    """Why an account is taken for unused: when its holder was here, and when a job told of a use."""
    values = {name: f"{at:%Y-%m-%d}" for name, at in (("seen", last), ("used", used)) if at}
    if last:
        return say(IDLE_SINCE if used else IDLE, **values)
    return say(UNSEEN_SINCE if used else UNSEEN, **values)


def in_readers_language(name: str, value: Any) -> str:
    """A value of a hint's data; English whose wording is known no more stays as it is."""
    if isinstance(value, list):
        return str(joined([Said(item["said"], item["values"]) for item in value]))
    if not isinstance(value, str):
        return filled(value)
    readers = {"others": _others, "first": _holds, "second": _holds}
    return str(read_back(value, _OF.get(name, ()), readers) or value)


def _others(text: str) -> Said | None:
    return read_back(text, (ABOVE, HERE, SAME_NAME, ON_TEXT))


def _holds(text: str) -> Said | None:
    return read_back(text, (BOTH, *HELD), {"first": _holds, "second": _holds})
