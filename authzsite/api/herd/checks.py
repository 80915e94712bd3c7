"""What a request must say, whatever exists, in the original's order and words.  Names are trimmed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accounts.people import BadName, checked_name
from accounts.text import holdable
from authzsite.api.herd.problems import Problem
from authzsite.api.strictjson import BadBody
from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE


def user_id(value: str | None) -> str:
    """The trimmed user id.  Raises Problem."""
    return named(value, "A user id", "User id")


def namespace(value: str | None) -> str:
    """The trimmed code of a namespace.  Raises Problem."""
    return named(value, "A namespace", "Namespace")


def job_name(value: str | None) -> str:
    """The trimmed name of a job definition.  Raises Problem."""
    return named(value, "A job name", "Job name")


def workflow(value: str | None) -> str:
    """What a job does, kept as it was sent and never run here.  Raises Problem."""
    if not (value or "").strip():
        raise Problem(400, "An Activiti job XML must be specified.")
    check_keepable(value, "An Activiti job XML has")
    return value or ""


def check_keepable(content: Any, which_has: str) -> None:
    """Raise Problem where a text in it, however deep, could not be kept."""
    if isinstance(content, dict):
        content = [*content.values()]
    if isinstance(content, list):
        for item in content:
            check_keepable(item, which_has)
    elif isinstance(content, str) and not holdable(content):
        raise Problem(400, f"{which_has} no NUL and no half characters.")


def named(value: str | None, wanted: str, noun: str) -> str:
    """The trimmed name, called `wanted` when it is missing and `noun` when it is bad.  Raises Problem."""
    name = (value or "").strip()
    if not name:
        raise Problem(400, f"{wanted} must be specified.")
    for letter, word in (("/", "forward"), ("\\", "backward")):
        if letter in name:
            raise Problem(400, f"{noun} can not contain a {word} slash character.")
    try:
        return checked_name(name)
    except BadName as error:
        raise Problem(400, f"{noun} is not usable: {error}.") from None


def permissions(codes: Sequence[str] | None) -> tuple[str, ...]:
    """The permissions, of which there must be some and none twice.  Raises Problem, BadBody."""
    if not codes:
        raise Problem(400, "Namespace permissions must be specified.")
    for place, code in enumerate(codes):
        if code not in ON_NAMESPACE:
            raise BadBody(f"a permission is none of {', '.join(ON_NAMESPACE)}")
        if code in codes[:place]:
            raise Problem(400, f'Duplicate namespace permission "{code}" is found.')
    return tuple(codes)


def charge_code(value: str | None) -> str | None:
    """The trimmed charge code; a blank one is none.  Raises Problem."""
    code = (value or "").strip()
    if len(code) > 255 or not code.isprintable():
        raise Problem(400, "A charge code has at most 255 characters, all of them printable.")
    return code or None
