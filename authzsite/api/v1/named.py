"""What the parameters of a question name: a realm, an object, somebody, a moment, a place in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.strictjson import BadBody
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from catalog.resolve import find_all, spelled
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.decisions import ask, slices
from policies.record.revisions import moment_in

Asked = Mapping[str, str]
M = TypeVar("M", bound=Model)
USUAL, MOST = 100, 1000
USUAL_TYPES = ("metalake", "catalog", "schema", "table", "namespace")


def needed(asked: Asked, name: str) -> str:
    value = asked.get(name, "")
    if not value:
        raise BadBody(f"the parameter {name} is missing")
    return value


def limit(asked: Asked) -> int:
    size = whole(asked, "limit", least=1)
    return USUAL if size is None else min(size, MOST)


def whole(asked: Asked, name: str, *, least: int = 0) -> int | None:
    text = asked.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < least:
        raise BadBody(f"{name} must be a whole number from {least}")
    return int(text)


def moment(asked: Asked, name: str) -> datetime | None:
    """A time as ISO 8601 writes it; without a zone it is UTC."""
    text = asked.get(name, "")
    if not text:
        return None
    time = moment_in(text) or moment_in(text.replace(" ", "+"))  # a plus sign that nobody escaped
    if time is not None:
        return time
    raise BadBody(f"{name} must be a time such as 2026-01-31T12:00:00Z")


def reference(asked: Asked, viewer: Principal | None = None) -> tuple[str, str]:
    """The type and id of `resource`; the type stands in `type`, or before a colon, or is told by the name.

    To a `viewer` what they do not see is no reason for a type.
    """
    text, type_ = needed(asked, "resource"), asked.get("type", "")
    first, colon, rest = text.partition(":")
    if not type_ and colon and any(first in law.types for law in dialects.every()):
        type_, text = first, rest
    return type_ or _usual_type(text, viewer), text


def _usual_type(id_: str, viewer: Principal | None) -> str:
    """What a name most likely means: of the types with so many parts the first there is, else the usual."""
    refs = spelled(_readings(id_))
    candidates = [node for node in find_all(refs) if node is not None] if refs else []
    visible = next((node for node in candidates if viewer is None or _sees(viewer, node)), None)
    if visible is not None:
        return visible.type
    usual = [ref.type for ref in refs if ref.type in USUAL_TYPES]
    return usual[0] if usual else refs[0].type if refs else "table"


def _sees(viewer: Principal, node: Node) -> bool:
    return ask.may_see(slices.current(viewer, node), node, now=timezone.now())


def _readings(id_: str) -> list[ObjectRef]:
    if not holdable(id_):
        return []
    try:
        depth = len(ObjectRef.parse("", id_).path)
    except BadName:
        return []
    laws = dialects.every()
    types = [item for law in laws for item in law.types if law.type_path(item, depth) is not None]
    return [ObjectRef.parse(type_, id_) for type_ in dict.fromkeys(types)]


def the_object(asked: Asked) -> Node | None:
    """The object that `resource` names, if there is one."""
    type_, id_ = reference(asked)
    try:
        refs = spelled([ObjectRef.parse(type_, id_)]) if holdable(type_ + id_) else []
    except BadName:
        return None
    return find_all(refs)[0] if refs else None


def the_object_seen(asked: Asked, viewer: Principal) -> Node | None:
    """The same, unless it is hidden from the viewer, to whom it is then as if it were not there."""
    node = the_object(asked)
    return node if node is not None and _sees(viewer, node) else None


def somebody_known(text: str, viewer: Principal) -> Principal | None:
    """Whom a name means among those the viewer may look up; anybody else is as if they were not there."""
    principal = somebody(text)
    return (
        principal
        if principal is not None and VisiblePrincipals(viewer).people().filter(pk=principal.pk).exists()
        else None
    )


def somebody(text: str) -> Principal | None:
    """`user:ana`, `group:analysts`, `service:etl`; a bare name is a user's."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in Principal.Kind.values:
        kind, name = Principal.Kind.USER, text
    return people.find(kind, name) if holdable(name) else None


def cursor(asked: Asked, salt: str) -> list[object] | None:
    text = asked.get("cursor", "")
    if not text:
        return None
    try:
        position: list[object] = signing.loads(text, salt=salt)
    except (signing.BadSignature, ValueError):
        raise BadBody("cursor was not issued here") from None
    return position


def newest(rows: QuerySet[M], asked: Asked, salt: str) -> tuple[list[M], list[object] | None]:
    """The rows of one page, the newest first, and where the next goes on."""
    after, most = cursor(asked, salt), limit(asked)
    if after and isinstance(after[0], int):
        rows = rows.filter(pk__lt=after[0])
    page = list(rows.order_by("-pk")[: most + 1])
    return page[:most], [page[most - 1].pk] if len(page) > most else None


def listed(
    results: Sequence[Mapping[str, object]], after: Sequence[object] | None, salt: str
) -> dict[str, object]:
    """One page of a list, with the cursor to the next."""
    return {"results": results, "next": None if after is None else signing.dumps(after, salt=salt)}
