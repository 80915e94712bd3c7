"""Tags and policies, and the objects that bear them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authzsite.api.gravitino import altering, path_objects
from authzsite.api.gravitino.altering import Draft, Update
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    RENAME,
    Reader,
    filled,
    flag,
    listed,
    mapping,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Handler, Route
from authzsite.api.gravitino.errors import Problem, illegal, no_such
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, audits_of, described, with_details
from catalog.models import Detail, Mark
from catalog.nodes import Node, nodes
from lakewarden.law.engine import visible
from policies.decisions import ask as decisions_ask
from policies.decisions.lookups import visible_objects
from policies.services import object_details, objects, tags

Show = Callable[[str, Detail, Audit], Wire]


@dataclass(frozen=True)
class Kind:
    """Tags, or policies: what they are called, what they look like, what is asked of the law about them."""

    type: str
    many: str
    show: Show
    noun: str

    @property
    def listing(self) -> str:
        return f"{self.noun}.list{self.many.capitalize()}ForMetadataObject"

    @property
    def getting(self) -> str:
        return f"{self.noun}.get{self.type.capitalize()}ForObject"

    @property
    def putting(self) -> str:
        return f"{self.noun}.associate{self.many.capitalize()}ForObject"


# what a tag or a policy is


def tag(name: str, detail: Detail, audit: Audit) -> Wire:
    return described(name, detail, audit)


def policy(name: str, detail: Detail, audit: Audit) -> Wire:
    return {
        "name": name,
        "comment": detail.comment,
        "policyType": detail.content.get("policyType", "custom"),
        "enabled": object_details.in_use(detail),
        "content": detail.content.get("content", {}),
        "audit": audit,
    }


CREATE_TAG = shape({"name": required(filled), "comment": text, "properties": strings})
ALTER_TAG = updates({**RENAME, **COMMENT, **PROPERTIES})
CONTENT = shape(
    {"customRules": mapping, "supportedObjectTypes": listed(filled), "properties": strings, "rules": mapping}
)
CREATE_POLICY = shape(
    {
        "name": required(filled),
        "comment": text,
        "policyType": required(filled),
        "enabled": flag,
        "content": required(CONTENT),
    }
)
ALTER_POLICY = updates(
    {**RENAME, **COMMENT, "updateContent": {"policyType": text, "newContent": required(CONTENT)}}
)
SWITCH = shape({"enable": required(flag)})


def _checked(content: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = {item.lower() for item in content.get("supportedObjectTypes", ())} - {
        "metalake",
        *path_objects.DATA,
    }
    if unknown:
        raise illegal(f"{min(unknown)} is no type of a metadata object")
    return content


def create_tag(call: Call) -> Later:
    node = altering.make(call, "tag")
    return lambda: _wire_of(TAG, node)


def create_policy(call: Call) -> Later:
    body = call.body
    content = {"policyType": body["policyType"], "content": _checked(body["content"])}
    node = altering.make(call, "policy", content={**content, "in_use": body.get("enabled", True)})
    return lambda: _wire_of(POLICY, node)


def _update_content(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.content["content"] = _checked(update["newContent"])


def switch(call: Call) -> Wire:
    object_details.switch(call.node, on=call.body["enable"], **call.by)
    return {}


def _wire_of(kind: Kind, node: Node) -> Wire:
    return {kind.type: kind.show(node.name, Detail.objects.get(securable=node.id), audit_of(node))}


def listing(kind: Kind) -> Handler:
    def handle(call: Call) -> Wire:
        rows = visible_objects.children(call.slice, call.root, kind.type, now=call.now)
        if call.asks("details"):
            return {kind.many: with_details(rows, kind.show)}
        return {"names": list(rows.values_list("name", flat=True))}

    return handle


def altered(kind: Kind, more: Mapping[str, Update]) -> Handler:
    def handle(call: Call) -> Later:
        node, _ = altering.alter(call, call.node, more=more)
        return lambda: _wire_of(kind, node)

    return handle


def delete(call: Call) -> Wire:
    if call.absent:
        return {"dropped": False, "deleted": False}
    Mark.objects.filter(mark=call.node.id).delete()
    objects.drop(call.node, **call.by)
    return {"dropped": True, "deleted": True}


def marked(call: Call) -> Wire:
    """The objects that bear a mark, as far as the viewer may look at them."""
    rows = list(Mark.objects.filter(mark=call.node.id).order_by("pk"))
    by_id = nodes(row.securable_id for row in rows)
    shown = []
    for row in rows:
        node = by_id.get(row.securable_id)
        if node is not None and decisions_ask.may_see(call.slice, node, now=call.now):
            names = [*node.path, row.column] if row.column else list(node.path)
            shown.append(
                {"fullName": ".".join(names) or node.name, "type": "column" if row.column else node.type}
            )
    return {"metadataObjects": shown}


# what an object bears


def borne(call: Call, kind: Kind) -> list[tuple[int, bool]]:
    """The marks on the object and above it that the viewer may see, each with whether it comes from above."""
    node, column = call.node, call.place.column
    own = node.lineage[-2] if column else node.id
    rows = Mark.objects.filter(securable__in=[key for key in node.lineage if key != path_objects.ABSENT])
    rows = rows.filter(mark__type=kind.type, mark__closed__isnull=True).order_by("mark", "pk")
    seen = visible(call.slice, call.root.levels, kind.type, now=call.now.timestamp())
    mark_states: dict[int, bool] = {}
    for row in rows:
        if row.column and row.column != column:
            continue
        inherited = row.securable_id != own or row.column != column
        if seen.shows(row.mark_id):
            mark_states[row.mark_id] = mark_states.get(row.mark_id, True) and inherited
    return sorted(mark_states.items())


def of_object(kind: Kind) -> Handler:
    def handle(call: Call) -> Wire:
        _need_column(call)
        return _borne_now(call, kind)

    return handle


def _borne_now(call: Call, kind: Kind) -> Wire:
    mark_states = borne(call, kind)
    by_id = nodes(key for key, _ in mark_states)
    if not call.asks("details"):
        return {"names": [by_id[key].name for key, _ in mark_states]}
    details = {row.securable_id: row for row in Detail.objects.filter(securable__in=by_id)}
    when = audits_of(by_id)
    return {
        kind.many: [
            kind.show(by_id[key].name, details.get(key) or Detail(), when.get(key, {})) | {"inherited": above}
            for key, above in mark_states
        ]
    }


def _need_column(call: Call) -> None:
    """A column is there when its table names it.  Raises Problem."""
    column = call.place.column
    detail = call.detail_of(call.node.levels[-2].key) if column else None
    if column and all(item["name"] != column for item in (detail or Detail()).columns):
        raise no_such("metadata_object", call.names["full_name"])


def _mark(call: Call, kind: Kind, name: str) -> path_objects.Place:
    return path_objects.place(call.root, [kind.type], [name])


def weigh_get(kind: Kind) -> Callable[[Call], None]:
    def ask(call: Call) -> None:
        call.decide(kind.getting, call.node, also=_mark(call, kind, call.names[kind.type]).node.levels)

    return ask


def one_of_object(kind: Kind) -> Handler:
    def handle(call: Call) -> Wire:
        _need_column(call)
        mark = _mark(call, kind, call.names[kind.type])
        inherited = dict(borne(call, kind)).get(mark.node.id)
        if mark.missing or inherited is None:
            raise no_such(kind.type, call.names[kind.type])
        wire = _wire_of(kind, mark.node)
        wire[kind.type]["inherited"] = inherited
        return wire

    return handle


def weigh_put(kind: Kind) -> Callable[[Call], None]:
    """Each mark is asked about by itself, those put and those taken; all must pass."""

    def ask(call: Call) -> None:
        place = call.place
        try:
            body = call.read_body()
        except Problem:
            body = {}
        names = [*body.get(f"{kind.many}ToAdd", ()), *body.get(f"{kind.many}ToRemove", ())]
        if not names:
            call.decide(kind.listing, place.node)
        for name in dict.fromkeys(names):
            call.decide(kind.putting, place.node, also=_mark(call, kind, name).node.levels)

    return ask


def associate(kind: Kind) -> Handler:
    def handle(call: Call) -> Later:
        _need_column(call)
        # the node that keeps the marks: a column's are with its table
        if not call.place.column:
            bearer = call.node
        else:
            *above, _ = (*call.node.above(), call.node)
            bearer = above[-1]
        node, column = bearer, call.place.column
        removed = _existing(call, kind, call.body.get(f"{kind.many}ToRemove", ()), needed=False)
        new = _existing(call, kind, call.body.get(f"{kind.many}ToAdd", ()), needed=True)
        tags.take(node, removed, column=column, **call.by)
        tags.put(node, new, column=column, **call.by)
        return lambda: _borne_now(call, kind)

    return handle


def _existing(call: Call, kind: Kind, names: Sequence[str], *, needed: bool) -> list[Node]:
    marks = [_mark(call, kind, name) for name in dict.fromkeys(names)]
    absent = [place for place in marks if place.missing is not None]
    if needed and absent:
        raise no_such(kind.type, absent[0].node.name)
    return [place.node for place in marks if place.missing is None]


def calls(
    kind: Kind, create: Handler, shapes: tuple[Reader, Reader], more: Mapping[str, Update]
) -> Iterable[Route]:
    """The calls on the marks of a kind themselves."""
    noun, all_ = kind.type.capitalize(), kind.many.capitalize()
    every = f"metalakes/{{metalake}}/{kind.many}"
    single = f"{every}/{{{kind.type}}}"
    yield Route("GET", every, f"{noun}.list{all_}", listing(kind))
    yield Route("POST", every, f"{noun}.create{noun}", create, shapes[0])
    yield Route("GET", single, f"{noun}.get{noun}", lambda call: _wire_of(kind, call.node))
    yield Route("PUT", single, f"{noun}.alter{noun}", altered(kind, more), shapes[1])
    yield Route("DELETE", single, f"{noun}.delete{noun}", delete, absent_ok=True)
    yield Route("GET", f"{single}/objects", f"{noun}.listMetadataObjectsFor{noun}", marked)


def calls_on_objects(kind: Kind, base: str, rest: str) -> Iterable[Route]:
    """The calls on what an object bears."""
    every, noun = f"metalakes/{{metalake}}/{base}/{{type}}/{{full_name}}{rest}", kind.type
    body = shape({f"{kind.many}ToAdd": listed(filled), f"{kind.many}ToRemove": listed(filled)})
    yield Route("GET", every, kind.listing, of_object(kind), noun=noun)
    yield Route(
        "GET", f"{every}/{{{noun}}}", kind.getting, one_of_object(kind), weigh=weigh_get(kind), noun=noun
    )
    yield Route(
        "POST",
        every,
        kind.putting,
        associate(kind),
        body,
        weigh=weigh_put(kind),
        noun=noun,
        taken=f"{noun.capitalize()}AlreadyAssociatedException",
    )


TAG = Kind("tag", "tags", tag, "MetadataObjectTag")
OLD_TAG = Kind("tag", "tags", tag, "Tag")
POLICY = Kind("policy", "policies", policy, "MetadataObjectPolicy")
ROUTES = (
    *calls(TAG, create_tag, (CREATE_TAG, ALTER_TAG), {}),
    *calls(POLICY, create_policy, (CREATE_POLICY, ALTER_POLICY), {"updateContent": _update_content}),
    Route("PATCH", "metalakes/{metalake}/policies/{policy}", "Policy.setPolicy", switch, SWITCH),
    *calls_on_objects(TAG, "objects", "/tags"),
    *calls_on_objects(OLD_TAG, "tags", ""),
    *calls_on_objects(POLICY, "objects", "/policies"),
)
