"""What goes wrong in Herd's words, word for word, with the status that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from policies.record.access_log import Refusal

OWN_GRANT = (
    "Users are not allowed to remove their own GRANT namespace permission. "
    "Please include the GRANT namespace permission in this request, "
    "or have another user remove the GRANT permission."
)


class Problem(Exception):
    """A call that is not done, and why."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Denied(Problem):
    """The law says no; the log keeps to whom and to what."""

    def __init__(self, messages: Sequence[str], refusals: Sequence[Refusal]):
        super().__init__(403, "\n".join(messages))
        self.refusals = refusals


def no_permission(user: str, permission: str, namespace: str) -> str:
    return f'User "{user}" does not have "[{permission}]" permission(s) to the namespace "{namespace}"'


def no_namespace(code: str) -> Problem:
    return Problem(404, f'Namespace "{code}" doesn\'t exist.')


def namespace_exists(code: str) -> Problem:
    return Problem(409, f'Unable to create namespace "{code}" because it already exists.')


def no_entry(user: str, namespace: str) -> Problem:
    named = f'user id "{user}" and namespace "{namespace}"'
    return Problem(404, f"User namespace authorization with {named} doesn't exist.")


def entry_exists(user: str, namespace: str) -> Problem:
    named = f'user id "{user}" and namespace "{namespace}"'
    return Problem(
        409, f"Unable to create user namespace authorization with {named} because it already exists."
    )


def no_job(name: str, namespace: str) -> Problem:
    return Problem(404, f'Job definition with name "{name}" doesn\'t exist for namespace "{namespace}".')


def job_exists(name: str, namespace: str) -> Problem:
    named = f'job definition with name "{name}" for namespace "{namespace}"'
    return Problem(409, f"Unable to create {named} because it already exists.")


def no_notification(name: str, namespace: str) -> Problem:
    named = f'name "{name}" does not exist for "{namespace}" namespace'
    return Problem(404, f"Business object data notification registration with {named}.")


def notification_exists(name: str, namespace: str) -> Problem:
    named = f'notification with name "{name}" because it already exists for namespace "{namespace}"'
    return Problem(409, f"Unable to create {named}.")


def in_use(code: str) -> Problem:
    reason = f'something or somebody else still depends on the namespace "{code}"'
    return Problem(400, f"A constraint has been violated. Reason: {reason}")


def information(status: int, message: str) -> dict[str, Any]:
    """The body of every error."""
    return {
        "statusCode": status,
        "statusDescription": HTTPStatus(status).phrase,
        "message": message,
        "messageDetails": [],
    }
