"""Everything that can go wrong, as {code, type, message}: the one map from our words to Gravitino's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakewarden.law.objects import BadName
from policies import errors

NOUNS = {
    "job_template": "JobTemplate",
    "metadata_object": "MetadataObject",
    "model_version": "ModelVersion",
}


def noun(type: str) -> str:
    """A type as the names of exceptions have it."""
    return NOUNS.get(type) or type.capitalize()


class Problem(Exception):
    """An answer that is no success: HTTP status, Gravitino's code, the exception's name and a text."""

    def __init__(self, status: int, code: int, type: str, message: str):
        super().__init__(message)
        self.status, self.code, self.type, self.message = status, code, type, message

    @property
    def body(self) -> dict[str, Any]:
        # Python clients format messages, so a percent sign would break them
        text = self.message.replace("%", "\N{FULLWIDTH PERCENT SIGN}") or self.type
        return {"code": self.code, "type": self.type, "message": text}


def malformed(why: str = "") -> Problem:
    """The body cannot be read."""
    return illegal(f"Malformed json request{': ' + why if why else ''}")


def illegal(message: str, type: str = "IllegalArgumentException") -> Problem:
    return Problem(400, 1001, type, message)


def unauthorized(message: str) -> Problem:
    return Problem(401, 1011, "UnauthorizedException", message)


def forbidden(message: str) -> Problem:
    return Problem(403, 1008, "ForbiddenException", message)


def no_such(type: str, name: str) -> Problem:
    """The object is not there, and the caller may know that."""
    return Problem(404, 1003, f"NoSuch{noun(type)}Exception", f"{noun(type)} {name} does not exist")


def not_found(message: str) -> Problem:
    return Problem(404, 1003, "NotFoundException", message)


def exists(type: str, message: str) -> Problem:
    return Problem(409, 1004, f"{noun(type)}AlreadyExistsException", message)


def non_empty(type: str, message: str) -> Problem:
    return Problem(409, 1005, f"NonEmpty{noun(type)}Exception", message)


def unsupported(message: str, type: str = "UnsupportedOperationException") -> Problem:
    return Problem(405, 1006, type, message)


def unreachable(message: str) -> Problem:
    return Problem(502, 1007, "ConnectionFailedException", message)


def not_in_use(type: str, name: str) -> Problem:
    return Problem(409, 1009, f"{noun(type)}NotInUseException", f"{noun(type)} {name} is not in use")


def in_use(type: str, name: str) -> Problem:
    message = f"{noun(type)} {name} is in use, please disable it first or use force option"
    return Problem(409, 1010, f"{noun(type)}InUseException", message)


def broken() -> Problem:
    """Something went wrong here; the text tells nothing of what."""
    return Problem(500, 1002, "RuntimeException", "Something went wrong here")


def unavailable(text: str) -> Problem:
    """Nothing can be said now; to be asked again."""
    return Problem(503, 1002, "ServiceUnavailableException", text)


SWITCHED_OFF = (
    "You should set 'gravitino.authorization.enable' to true in the server side `gravitino.conf` to enable "
    "the authorization of the system, otherwise these interfaces can't work."
)

BY_STATUS: Mapping[int, tuple[int, str]] = {
    400: (1001, "IllegalArgumentException"),
    401: (1011, "UnauthorizedException"),
    403: (1008, "ForbiddenException"),
    404: (1003, "NotFoundException"),
    405: (1006, "UnsupportedOperationException"),
    409: (1004, "AlreadyExistsException"),
    413: (1001, "IllegalArgumentException"),
}


def of_status(status: int, message: str) -> Problem:
    """What Django itself refused, told in Gravitino's form."""
    code, type = BY_STATUS.get(status, (1002, "RuntimeException"))
    return Problem(status, code, type, message)


def of_policy(error: Exception, type: str, illegal_type: str, taken: str = "") -> Problem:
    """One of our own errors, raised while something of `type` was worked on."""
    text = str(error)
    if isinstance(error, errors.NotFound):
        return Problem(404, 1003, f"NoSuch{noun(type)}Exception", text)
    if isinstance(error, errors.AlreadyExists):
        return Problem(409, 1004, taken, text) if taken else exists(type, text)
    if isinstance(error, errors.Refused):
        return forbidden(text)
    if isinstance(error, errors.Conflict):
        return illegal(text)
    return illegal(text, illegal_type if isinstance(error, errors.Invalid) else "IllegalArgumentException")


OURS = (errors.PolicyError, BadName)
"""What the floors below raise."""
