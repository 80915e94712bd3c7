"""What can go wrong when something is asked for, in our own words; each surface says it in its own form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

if TYPE_CHECKING:
    from lakewarden.law.engine import Decision


class PolicyError(Exception):
    """Something that was asked for is not done; the text is for the person who asked."""


class NotFound(PolicyError):
    """There is no such thing, or the asker may not know of it."""


class AlreadyExists(PolicyError):
    """The name is taken."""


class Invalid(PolicyError):
    """What was asked makes no sense in the law of this realm; `field` says which entry, where it is one."""

    def __init__(self, message: str, field: str = ""):
        super().__init__(message)
        self.field = field


class Conflict(PolicyError):
    """Somebody else changed the same thing in the meantime, or it would break what must always hold."""


class Gone(PolicyError):
    """It was there, and is not kept any more."""


class Archived(Gone):
    """It is kept, but in the archive, where it takes longer to look."""


class Refused(PolicyError):
    """The law says no; `decision` says to what."""

    def __init__(self, message: str, decision: Decision | None = None):
        super().__init__(message)
        self.decision = decision


class Internal(PolicyError):
    """It is not done because of an error in the program, which is in the log."""


class Unsealed(Conflict):
    """A fact is not as the console wrote it; nothing is decided on it or done to it until it is set right."""

    def __init__(self, code: str):
        super().__init__(
            gettext(
                "%(code)s was changed in the database outside the console. It is ignored. A site admin "
                "can correct it with `manage.py facts`."
            )
            % {"code": code}
        )
