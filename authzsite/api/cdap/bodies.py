"""What CDAP's requests carry, in the forms of 3.4 and 3.5, of 4.3 to 6.1, and of the releases after.

The newest form names permissions instead of actions.  They are read as the actions that became them, so that
an old and a new client of one CDAP mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest

from accounts.people import BadName, checked_name
from accounts.text import holdable
from authzsite.api.cdap.problems import NO_BODY, NO_PRINCIPAL, Problem
from authzsite.api.strictjson import BadBody, read_content
from lakewarden.cdap.commands import HOLDERS, Holder
from lakewarden.cdap.wire import read_authorizable, read_entity
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity

PERMISSIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("STANDARD", "GET"): ("READ",),
    ("STANDARD", "UPDATE"): ("WRITE", "ADMIN"),
    ("APPLICATION", "EXECUTE"): ("EXECUTE",),
}
"""The permissions that actions became, with those actions; no action became any other permission."""


class Giving(NamedTuple):
    """A grant; `actions` None is all of them."""

    target: Authorizable
    holder: Holder
    actions: tuple[str, ...] | None


class Taking(NamedTuple):
    """A revoke; `holder` None is everybody, `actions` None all of them."""

    target: Authorizable
    holder: Holder | None
    actions: tuple[str, ...] | None


class Enforcement(NamedTuple):
    """May the principal do all of these on the entity?"""

    holder: Holder
    entity: Authorizable
    actions: tuple[str, ...]


class Visibility(NamedTuple):
    """Which of the entities exist for the principal?  Each as it was sent and as it was understood."""

    holder: Holder
    entities: list[tuple[dict[str, Any], Authorizable]]


def read_grant(request: HttpRequest, known: Sequence[str]) -> Giving:
    """What to give to whom; `known` are the actions of this generation.  Raises Problem."""
    read = _read_request(_body(request), known)
    if read.holder is None:
        raise Problem(400, "Principal is required")
    return Giving(read.target, read.holder, read.actions)


def read_revoke(request: HttpRequest, known: Sequence[str]) -> Taking:
    """What to take from whom.  Raises Problem."""
    read = _read_request(_body(request), known)
    if read.holder is None and read.actions is not None:
        raise Problem(400, NO_PRINCIPAL)
    return read


def read_enforcement(request: HttpRequest, known: Sequence[str]) -> Enforcement:
    """One question.  Raises Problem."""
    body = _body(request)
    if body.get("childEntityType") is not None:
        raise Problem(400, "Privileges on the children of an entity are not known in this generation.")
    single = body.get("action")
    sent = {**body, "actions": [single]} if single is not None else body
    actions = _actions(sent, known)
    if not actions:
        raise Problem(400, "Action is required")
    return Enforcement(_required_holder(body), _named(read_entity, body.get("entityId")), actions)


def read_visibility(request: HttpRequest) -> Visibility:
    """Which entities are asked about, and for whom.  Raises Problem."""
    body = _body(request)
    sent = body.get("entityIds")
    if not isinstance(sent, list):
        raise Problem(400, "entityIds must be a list")
    return Visibility(_required_holder(body), [(item, _named(read_entity, item)) for item in sent])


def holder_named(kind: str, name: str) -> Holder:
    """The principal that a path or body names, its type in any case.  Raises Problem."""
    if kind.lower() not in HOLDERS:
        raise Problem(400, f"`{kind}` is no type of principal; known are USER, GROUP, ROLE")
    try:
        return Holder(kind.lower(), checked_name(name))
    except BadName as error:
        raise Problem(400, f"The name of the principal is not usable: {error}.") from None


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        # the Java client names no content type, so none is asked for
        value = read_content(request)
    except BadBody as error:
        raise Problem(400, f"Could not read the request: {error}.") from None
    if value is None:
        raise Problem(400, NO_BODY)
    if not isinstance(value, dict):
        raise Problem(400, "Could not read the request: the body must be a JSON object.")
    return value


def _read_request(body: dict[str, Any], codes: Sequence[str]) -> Taking:
    if body.get("authorizable") is not None:
        target = _named(read_authorizable, body["authorizable"])
    elif body.get("entity") is not None:
        target = _named(read_entity, body["entity"])
    else:
        raise Problem(400, "Authorizable is required")
    holder = _holder(body["principal"]) if body.get("principal") is not None else None
    return Taking(target, holder, _actions(body, codes))


def _named(read: Any, value: object) -> Authorizable:
    try:
        target: Authorizable = read(value)
    except BadEntity as error:
        raise Problem(400, str(error)) from None
    if not holdable(str(target)):
        raise Problem(400, "The name of an entity has no NUL and no half characters.")
    return target


def _required_holder(body: dict[str, Any]) -> Holder:
    if body.get("principal") is None:
        raise Problem(400, "Principal is required")
    return _holder(body["principal"])


def _holder(value: object) -> Holder:
    if not isinstance(value, dict):
        raise Problem(400, "A principal must be a JSON object with name and type")
    name, kind = value.get("name"), value.get("type")
    if not isinstance(name, str) or not isinstance(kind, str):
        raise Problem(400, "A principal must have a name and a type")
    return holder_named(kind, name)


def _actions(body: dict[str, Any], codes_: Sequence[str]) -> tuple[str, ...] | None:
    """The actions of either form together, each once; None when neither is there."""
    sent = [body[field] for field in ("actions", "permissions") if body.get(field) is not None]
    if not sent:
        return None
    if any(not isinstance(some, list) for some in sent):
        raise Problem(400, "actions and permissions must be lists")
    codes = [code for some in sent for item in some for code in _codes(item)]
    for code in codes:
        if code not in codes_:
            raise Problem(400, f"`{code}` is no action here; known are {', '.join(codes_)}")
    return tuple(dict.fromkeys(codes))


def _codes(code: object) -> Iterable[str]:
    if isinstance(code, str):
        return (code,)
    if not isinstance(code, dict):
        raise Problem(400, "An action must be a text, a permission an object with type and name")
    type, name = code.get("type"), code.get("name")
    if not isinstance(type, str) or not isinstance(name, str):
        raise Problem(400, "A permission must have a type and a name")
    if (type, name) not in PERMISSIONS:
        raise Problem(400, f"No action of this generation stands for the permission {type} {name}.")
    return PERMISSIONS[type, name]
