"""What goes wrong in CDAP's words, word for word, with the status that goes with it; plain text, no JSON."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.models import Principal
from lakewarden.cdap.commands import Holder

SETTINGS = {"authentication": "security.enabled", "authorization": "security.authorization.enabled"}
NO_BODY = "Missing request body"
NO_PRINCIPAL = "Principal is required when actions is provided"


class Problem(Exception):
    """A call that is not done, and why."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Denied(Problem):
    """The law says no; the log keeps to what, by the entity's text."""

    def __init__(self, message: str, operation: str, entity: str):
        super().__init__(403, message)
        self.operation, self.entity = operation, entity


def disabled(feature: str) -> Problem:
    """Authentication or authorization is switched off; the client tells them apart by the word."""
    message = f"Please set '{SETTINGS[feature]}' to 'true' in the 'cdap-site.xml' to enable this feature."
    return Problem(501, f"Feature '{feature}' is not enabled. {message}")


def holder_of(principal: Principal) -> Holder:
    """How CDAP names somebody; a service account is a user to it."""
    kind = "group" if principal.kind == Principal.Kind.GROUP else "user"
    return Holder(kind, principal.name)


def spoken(holder: Holder, policy: str) -> str:
    """A principal as CDAP prints it; before 4.0 without the Kerberos principal."""
    kerberos = "" if policy.startswith("3.") else ", kerberosPrincipal=null"
    return f"Principal{{name='{holder.name}', type={holder.kind.upper()}{kerberos}}}"


def exists(holder: Holder, policy: str) -> Problem:
    return Problem(409, f"{spoken(holder, policy)} already exists.")


def absent(holder: Holder, policy: str) -> Problem:
    return Problem(404, f"{spoken(holder, policy)} not found.")


def no_entity(entity: str) -> Problem:
    return Problem(404, f"'{entity}' was not found.")


def denied(holder: Holder, policy: str, actions: Sequence[str], entity: str) -> Denied:
    """The holder lacks some of the actions; `actions` are those."""
    what = f"action '{actions[0]}'" if len(actions) == 1 else f"actions '[{', '.join(actions)}]'"
    message = f"Principal '{spoken(holder, policy)}' is not authorized to perform {what} on entity '{entity}'"
    return Denied(message, ",".join(actions), entity)
