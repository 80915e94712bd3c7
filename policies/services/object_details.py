"""What clients say about objects: comments, properties, columns, and whatever only one type has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext

from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.law.switches import SWITCHED
from policies.authority import Actor, Authority
from policies.errors import Conflict, Unsealed
from policies.events import OBJECT_ALTERED, OBJECT_SWITCHED
from policies.models import Backend
from policies.record import newest_editions, outbox
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.secrets import encrypt
from policies.services import realm_of

MASK = "******"
UNNAMED = "unknown"
"""The name that a fileset's only location has in what clients say."""
_SECRET = re.compile(
    r"(?i:password|passwd|secret|token|credential)|(?<=[-_.])(?i:key)(?=$|[-_.])|(?<=[a-z])Key(?![a-z])"
)


def is_secret(key: str) -> bool:
    """Whether a property of that name holds what nobody should read again."""
    return _SECRET.search(key) is not None


def shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties as people may see them."""
    return {key: MASK if is_secret(key) else value for key, value in properties.items()}


def sealed(said_now: Mapping[str, str], before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Properties as they are kept: secrets encrypted; the mask, sent back, stands for what was there."""
    kept = before or {}
    return {key: _kept(key, value, kept) for key, value in said_now.items()}


def _kept(key: str, value: str, before: Mapping[str, str]) -> str:
    if not is_secret(key):
        return value
    return before[key] if value == MASK and key in before else encrypt(value)


def describe(node: Node, *, by: Actor, authority: Authority, what: str, **said_now: Any) -> Detail:
    """Replace some of `comment`, `columns` and `content` of an object; `what` names it for the record."""
    with change(OBJECT_ALTERED, realm=realm_of(node), by=by) as current:
        row, _ = Detail.objects.select_for_update().get_or_create(securable_id=node.id)
        if location_of(row.content) != location_of(said_now.get("content", row.content)):
            refuse_place_in_source(node, [said_now["content"]])
        for name, value in said_now.items():
            setattr(row, name, value)
        row.altered = current.revision
        row.save(update_fields=[*said_now, "altered"])
        current.say(make_event(OBJECT_ALTERED, node, type=node.type, what=what), by=authority)
    return row


def check_written_here(rows: Iterable[Detail]) -> None:
    """Raise Unsealed for what was said of an object past the console, or is an earlier state of it.

    For who decides by it: where data lies, whom programs run as.
    """
    some = list(rows)
    good = {row.pk for row in newest_editions.among(row for row in some if row.is_sealed)}
    for row in some:
        if row.pk not in good:
            raise Unsealed(f"detail:{row.pk}")


def location_of(content: Mapping[str, Any]) -> str:
    """Where an object's data lies, as a client said; empty where none did."""
    named = content.get("storageLocations") or {}
    if isinstance(named, Mapping) and named:
        return str(named.get(UNNAMED) or named[min(named)])
    properties = content.get("properties") or {}
    return str(properties.get("location") or "") if isinstance(properties, Mapping) else ""


def refuse_place_in_source(node: Node, contents: Iterable[Mapping[str, Any]]) -> None:
    """Within a change: what lies in a connected catalog gets no place by what a client says.

    Raises Conflict.  Who asks was told so before; here no connection can come in between.
    """
    if not any(map(location_of, contents)):
        return
    keys = [level.key for level in node.levels if isinstance(level.key, int)]
    if Detail.objects.filter(securable__in=keys, properties__connected=True).exists():
        raise Conflict(gettext("This catalog was connected meanwhile, and its source says where data lies."))


def switch(node: Node, *, on: bool, by: Actor, authority: Authority) -> bool:
    """Let a metalake, a catalog or a policy be used or not; False when it was so already."""
    with change(OBJECT_SWITCHED, realm=realm_of(node), by=by) as current:
        row, _ = Detail.objects.select_for_update().get_or_create(securable_id=node.id)
        if in_use(row) == on:
            return False
        row.content = {**row.content, "in_use": on}
        row.altered = current.revision
        row.save(update_fields=["content", "altered"])
        how = "enabled" if on else "disabled"
        current.say(make_event(OBJECT_SWITCHED, node, type=node.type, how=how), by=authority)
        if node.type in SWITCHED:
            for backend in Backend.objects.filter(realm=node.realm_id):
                outbox.ask(backend, current.revision, revokes=not on)
    return True


def in_use(row: Detail | None) -> bool:
    """Everything is in use until somebody disables it."""
    return row is None or row.content.get("in_use", True) is not False
