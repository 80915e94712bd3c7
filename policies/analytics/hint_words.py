"""What a hint's data say in English, as pipelines find it, in the language that is spoken now."""

from __future__ import annotations

from datetime import datetime

from policies.sentences import Said, read_back, say, sentence

CLOSED = sentence("hint.closed", "Cannot sign in any more")
OWNER_CLOSED = sentence("hint.owner_closed", "Its owner cannot sign in any more")
NO_OWNER = sentence("hint.no_owner", "Nobody owns it")
IDLE_SINCE = sentence("hint.idle_since", "Has not been here since {seen}, no job reported a use since {used}")
IDLE = sentence("hint.idle", "Has not been here since {seen}, and no job reported a use")
UNSEEN_SINCE = sentence("hint.unseen_since", "Was never seen here, no job reported a use since {used}")
UNSEEN = sentence("hint.unseen", "Was never seen here, and no job reported a use")
TODAY = sentence("hint.granted_today", "; granted today")
DAYS_AGO = sentence("hint.granted", "; granted a day ago", "; granted {many} days ago")
ABOVE = sentence("hint.above", "what is given above")
HERE = sentence("hint.here", "another grant here", "{many} other grants here")
DENIED_TOO = sentence("hint.denied_too", ", because {others} denies it too")
HELD = (
    sentence("hint.roles", "{many} role", "{many} roles"),
    sentence("hint.grants", "{many} grant", "{many} grants"),
    sentence("hint.owned", "{many} object of its own", "{many} objects of its own"),
)
TWO = sentence("hint.two", "{first} and {second}")
_OF = {
    "why": (CLOSED, OWNER_CLOSED, NO_OWNER, IDLE_SINCE, IDLE, UNSEEN_SINCE, UNSEEN),
    "given": (TODAY, DAYS_AGO),
    "others": (DENIED_TOO, ABOVE, HERE),
    "holds": (TWO, *HELD),
}
"""Which sentences each value of a hint's data may be."""


def asleep(last: datetime | None, used: datetime | None) -> str:
    """Why an account is taken for unused: when its holder was here, and when a job told of a use."""
    values = {name: f"{at:%Y-%m-%d}" for name, at in (("seen", last), ("used", used)) if at}
    if last:
        return say(IDLE_SINCE if used else IDLE, **values).english
    return say(UNSEEN_SINCE if used else UNSEEN, **values).english


def in_readers_language(name: str, text: str) -> str:
    """A value of a hint's data; one whose wording is known no more stays in English."""
    readers = {"others": _others, "first": _holds, "second": _holds}
    return str(read_back(text, _OF.get(name, ()), readers) or text)


def _others(text: str) -> Said | None:
    return read_back(text, (ABOVE, HERE))


def _holds(text: str) -> Said | None:
    return read_back(text, (TWO, *HELD), {"first": _holds, "second": _holds})
