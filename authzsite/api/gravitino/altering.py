"""Making, altering and dropping objects: what is the same for every type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from authzsite.api.gravitino.call import Call
from authzsite.api.gravitino.errors import illegal
from authzsite.api.gravitino.wire import Wire
from catalog.models import Detail
from catalog.nodes import Node
from policies.errors import Invalid
from policies.services import object_details, object_names, objects
from policies.services.objects import NewObject


def legal(name: str) -> str:
    """A name that an object may get here.  Raises Problem."""
    try:
        return object_names.legal(name)
    except Invalid as problem:
        raise illegal(str(problem)) from None


def make(call: Call, type: str, *, parent: Node | None = None, name: str = "", **said: Any) -> Node:
    """Register what the body describes below the object in the path; who makes it owns it."""
    body = call.body
    content = {"properties": object_details.sealed(body.get("properties", {})), **said.pop("content", {})}
    new = NewObject(
        type, name or legal(body["name"]), comment=body.get("comment", ""), content=content, **said
    )
    [node] = objects.register(parent or call.node, [new], owner=call.principal, **call.by)
    return node


def drop(call: Call) -> Wire:
    """Drop what the path names; what is not there is simply not dropped."""
    if call.absent:
        return {"dropped": False, "deleted": False}
    call.refuse_connected()
    objects.drop(call.node, **call.by)
    return {"dropped": True, "deleted": True}


@dataclass
class Draft:
    """What an object is to become, one update after another."""

    name: str
    comment: str
    properties: dict[str, str]
    content: dict[str, Any]
    columns: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, detail: Detail) -> Draft:
        content = {key: value for key, value in detail.content.items() if key != "properties"}
        properties = dict(detail.content.get("properties", {}))
        return cls(name, detail.comment, properties, content, [dict(column) for column in detail.columns])


Update = Callable[[Draft, Mapping[str, Any]], None]


def _rename(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.name = legal(update["newName"])


def _comment(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.comment = update.get("newComment", "")


def _set(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.properties |= object_details.sealed({update["property"]: update["value"]}, draft.properties)


def _remove(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.properties.pop(update["property"], None)


COMMON: dict[str, Update] = {
    "rename": _rename,
    "updateComment": _comment,
    "removeComment": _comment,
    "setProperty": _set,
    "removeProperty": _remove,
}


def alter(call: Call, node: Node, *, more: Mapping[str, Update] | None = None) -> tuple[Node, Detail]:
    """Apply the updates of the body in their order, as one change; answers what became of the object."""
    before, draft = Draft.of(node.name, call.detail), Draft.of(node.name, call.detail)
    apply(draft, call.body["updates"], more or {})
    if draft.name != node.name:
        node = objects.rename(node, draft.name, **call.by)
    return node, save(call, node, before, draft)


def apply(draft: Draft, updates: Iterable[Mapping[str, Any]], more: Mapping[str, Update]) -> None:
    """Let each update change the draft."""
    for update in updates:
        {**COMMON, **more}[update["@type"]](draft, update)


def save(call: Call, node: Node, before: Draft, draft: Draft) -> Detail:
    """Keep what the draft says otherwise than before."""
    values: dict[str, Any] = {}
    if draft.comment != before.comment:
        values["comment"] = draft.comment
    if draft.columns != before.columns:
        values["columns"] = draft.columns
    if (draft.properties, draft.content) != (before.properties, before.content):
        values["content"] = {**draft.content, "properties": draft.properties}
    if not values:
        return call.detail
    words = {"content": "the settings"}
    what = " and ".join(words.get(name, f"the {name}") for name in values)
    return object_details.describe(node, what=what, **values, **call.by)
