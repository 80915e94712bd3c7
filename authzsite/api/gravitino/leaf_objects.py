"""Views, topics, filesets and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from posixpath import join
from typing import Any

from authzsite.api.gravitino import altering, columns
from authzsite.api.gravitino.altering import Draft, Update
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    RENAME,
    Reader,
    anything,
    filled,
    flag,
    listed,
    mapping,
    one_of,
    required,
    shape,
    some,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Handler, Route
from authzsite.api.gravitino.columns import COLUMN
from authzsite.api.gravitino.errors import Problem, illegal, not_found, unreachable, unsupported
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, described, with_details
from authzsite.api.gravitino.wire import listed as identifiers
from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected
from policies.decisions.lookups import visible_objects
from policies.services.object_details import UNNAMED
from policies.sync.backends.files.tree import Entry
from policies.sync.discovery import fileset_files

Show = Callable[[str, Detail, Audit], Wire]
SCHEMA = "metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}"


def telling(noun: str, show: Show) -> Callable[[Node], Wire]:
    """What tells an object as it is now."""

    def wire_of(node: Node) -> Wire:
        return {noun: show(node.name, Detail.objects.get(securable=node.id), audit_of(node))}

    return wire_of


def loading(noun: str, show: Show) -> Handler:
    return lambda call: {noun: show(call.node.name, call.detail, audit_of(call.node))}


def altering_(noun: str, show: Show, more: Mapping[str, Update] | None = None) -> Handler:
    describe = telling(noun, show)

    def alter(call: Call) -> Later:
        call.refuse_connected()
        node, _ = altering.alter(call, call.node, more=more)
        return lambda: describe(node)

    return alter


def calls(
    noun: str, show: Show, create: Handler, shapes: tuple[Reader, Reader], verbs: str, updates_: Any = None
) -> Iterable[Route]:
    """The five calls of a kind of object in a schema; `verbs` are the operations' names."""
    listing, making, opening, altering__, dropping = verbs.split()
    name, every = noun.capitalize(), f"{SCHEMA}/{noun}s"
    path = f"{every}/{{{noun}}}"
    yield Route("GET", every, f"{name}.{listing}", _listing(noun, show))
    yield Route("POST", every, f"{name}.{making}", create, shapes[0])
    yield Route("GET", path, f"{name}.{opening}", loading(noun, show))
    yield Route("PUT", path, f"{name}.{altering__}", altering_(noun, show, updates_), shapes[1])
    yield Route("DELETE", path, f"{name}.{dropping}", altering.drop, absent_ok=True)


def _listing(noun: str, show: Show) -> Handler:
    def handle(call: Call) -> Wire:
        if noun != "function" or not call.asks("details"):
            return identifiers(noun)(call)
        rows = visible_objects.children(call.slice, call.node, noun, now=call.now)
        return {f"{noun}s": with_details(rows, show)}

    return handle


# views

REPRESENTATION = shape({"type": one_of("sql"), "dialect": required(filled), "sql": required(filled)})
VIEW: dict[str, Any] = {
    "columns": listed(COLUMN),
    "representations": required(some(REPRESENTATION)),
    "comment": text,
    "defaultCatalog": text,
    "defaultSchema": text,
}
CREATE_VIEW = shape({"name": required(filled), "properties": strings, **VIEW})
ALTER_VIEW = updates({**RENAME, **PROPERTIES, "replaceView": VIEW})
_VIEW_CONTENT = ("representations", "defaultCatalog", "defaultSchema")


def view(name: str, detail: Detail, audit: Audit) -> Wire:
    content, connected = detail.content, "representations" not in detail.content
    return described(name, detail, audit) | {
        "columns": [columns.shown(column, connected=connected) for column in detail.columns],
        "representations": content.get("representations") or _of_source(detail),
        "defaultCatalog": content.get("defaultCatalog"),
        "defaultSchema": content.get("defaultSchema"),
    }


def _of_source(detail: Detail) -> list[Wire]:
    # the source keeps the query to itself
    return [{"type": "sql", "dialect": "source", "sql": detail.properties.get("definition", "-- not known")}]


def _representations(items: list[Wire]) -> list[Wire]:
    if len({item["dialect"] for item in items}) < len(items):
        raise illegal("Two representations are for the same dialect")
    return [{"type": "sql", **item} for item in items]


def create_view(call: Call) -> Later:
    call.refuse_connected()
    call.need_kind("relational")
    body = call.body
    content = {name: body[name] for name in _VIEW_CONTENT if name in body}
    content["representations"] = _representations(body["representations"])
    node = altering.make(call, "view", columns=columns.kept_all(body.get("columns", ())), content=content)
    return lambda: telling("view", view)(node)


def _replace_view(draft: Draft, update: Mapping[str, Any]) -> None:
    draft.columns = columns.kept_all(update.get("columns", ()))
    draft.comment = update.get("comment", "")
    draft.content = {name: update[name] for name in _VIEW_CONTENT if name in update}
    draft.content["representations"] = _representations(update["representations"])


# topics

CREATE_TOPIC = shape(
    {"name": required(filled), "comment": text, "dataLayout": anything, "properties": strings}
)
ALTER_TOPIC = updates({**COMMENT, **PROPERTIES})


def create_topic(call: Call) -> Later:
    call.refuse_connected()
    call.need_kind("messaging")
    node = altering.make(call, "topic")
    return lambda: telling("topic", described)(node)


# filesets

CREATE_FILESET = shape(
    {
        "name": required(filled),
        "comment": text,
        "type": one_of("managed", "external"),
        "storageLocation": text,
        "storageLocations": strings,
        "properties": strings,
    }
)
ALTER_FILESET = updates({**RENAME, **COMMENT, **PROPERTIES, "removeComment": {}})


def fileset(name: str, detail: Detail, audit: Audit) -> Wire:
    content = detail.content
    places = content.get("storageLocations", {})
    return described(name, detail, audit) | {
        "type": content.get("type", "managed"),
        "storageLocation": places.get(UNNAMED) or next(iter(places.values()), None),
        "storageLocations": places,
    }


def create_fileset(call: Call) -> Later:
    call.refuse_connected()
    call.need_kind("fileset")
    body = call.body
    kind, given = body.get("type", "managed"), dict(body.get("storageLocations", {}))
    if body.get("storageLocation"):
        given.setdefault(UNNAMED, body["storageLocation"])
    if not given and kind == "external":
        raise illegal("An external fileset needs a storage location")
    content = {"type": kind, "storageLocations": given or {UNNAMED: _usual_location(call)}}
    node = altering.make(call, "fileset", content=content)
    return lambda: telling("fileset", fileset)(node)


def _usual_location(call: Call) -> str:
    """Where a managed fileset goes that names no place: below its schema's location, or its catalog's."""
    name, schema = call.body["name"], call.node.name
    properties = call.detail.content.get("properties", {})
    if properties.get("location"):
        return str(join(properties["location"], name))
    above = call.catalog.content.get("properties", {})
    if above.get("location"):
        return str(join(above["location"], schema, name))
    raise illegal("The fileset, its schema or its catalog needs a location")


def location(call: Call) -> Wire:
    """The address of a file in the fileset."""
    places = call.detail.content.get("storageLocations", {})
    default = call.detail.content.get("properties", {}).get("default-location-name", UNNAMED)
    location_name = call.query.get("location_name") or call.query.get("locationName") or default
    if location_name not in places:
        message = f"Fileset {call.node.name} has no location {location_name}"
        raise Problem(404, 1003, "NoSuchLocationNameException", message)
    below = call.query.get("sub_path", "").lstrip("/")
    if ".." in below.split("/"):
        raise illegal("A path does not lead out of its fileset")
    return {
        "fileLocation": f"{places[location_name].rstrip('/')}/{below}" if below else places[location_name]
    }


def files(call: Call) -> Wire:
    """What lies in the fileset's folder or in `sub_path` below it, where its catalog is a connected tree."""
    path = call.query.get("sub_path", "")
    below = tuple(name for name in path.split("/") if name)
    if {".", ".."}.intersection(below) or "\0" in path:
        raise illegal("A path does not lead out of its fileset")
    if call.query.get("location_name", UNNAMED) != UNNAMED:
        raise unsupported("Only the files of a fileset's own folder are listed here")
    try:
        entries = fileset_files.listed(call.node, below)
    except Gone as error:
        raise not_found(f"Fileset {call.node.name} has no folder {path or '/'}: {error}") from None
    except (Rejected, Misconfigured) as error:
        raise unsupported(f"The files of {call.node.name} cannot be listed from here: {error}") from None
    except BackendError as error:
        raise unreachable(f"The files of {call.node.name} cannot be listed now: {error}") from None
    folder = "/".join(("/fileset", *call.node.path, *below))
    return {"files": [_file(entry, folder) for entry in entries]}


def _file(entry: Entry, folder: str) -> Wire:
    # a name that is no text is shown with marks in the place of what is none
    name = entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    changed = int(entry.modified * 1000)
    return {
        "name": name,
        "isDir": entry.folder,
        "size": entry.size,
        "lastModified": changed,
        "path": folder,
    }


# functions

_DEFINITION = shape(
    {
        "parameters": listed(mapping),
        "returnType": columns.data_type,
        "returnColumns": listed(mapping),
        "impls": listed(mapping),
    }
)
CREATE_FUNCTION = shape(
    {
        "name": required(filled),
        "functionType": required(one_of("scalar", "aggregate", "table")),
        "deterministic": flag,
        "comment": text,
        "definitions": required(some(_DEFINITION)),
    }
)
_OF = {"parameters": listed(mapping)}
ALTER_FUNCTION = updates(
    {
        **COMMENT,
        "addDefinition": {"definition": required(_DEFINITION)},
        "removeDefinition": _OF,
        "addImpl": {**_OF, "implementation": required(mapping)},
        "updateImpl": {**_OF, "runtime": required(filled), "implementation": required(mapping)},
        "removeImpl": {**_OF, "runtime": required(filled)},
    }
)


def function(name: str, detail: Detail, audit: Audit) -> Wire:
    content = detail.content
    return {
        "name": name,
        "functionType": content.get("functionType", "scalar"),
        "deterministic": content.get("deterministic", False),
        "comment": detail.comment,
        "definitions": content.get("definitions", []),
        "audit": audit,
    }


def create_function(call: Call) -> Later:
    call.refuse_connected()
    names = ("functionType", "deterministic", "definitions")
    content = {name: call.body[name] for name in names if name in call.body}
    node = altering.make(call, "function", content=content)
    return lambda: telling("function", function)(node)


def _signature(parameters: Any) -> list[Any]:
    return [parameter.get("dataType") for parameter in parameters or ()]


def _definition(draft: Draft, update: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the definition with these parameters, in the place of the old one."""
    definitions: list[dict[str, Any]] = [dict(item) for item in draft.content.get("definitions", ())]
    draft.content["definitions"] = definitions
    for item in definitions:
        if _signature(item.get("parameters")) == _signature(update.get("parameters")):
            return item
    raise illegal("There is no definition with these parameters")


def _add_definition(draft: Draft, update: Mapping[str, Any]) -> None:
    signatures = [_signature(item.get("parameters")) for item in draft.content.get("definitions", ())]
    if _signature(update["definition"].get("parameters")) in signatures:
        raise illegal("There is a definition with these parameters")
    draft.content["definitions"] = [*draft.content.get("definitions", ()), update["definition"]]


def _remove_definition(draft: Draft, update: Mapping[str, Any]) -> None:
    removed = _definition(draft, update)
    left = [item for item in draft.content["definitions"] if item is not removed]
    if not left:
        raise illegal("A function keeps at least one definition")
    draft.content["definitions"] = left


def _change_impls(change: Callable[[list[Any], Mapping[str, Any]], list[Any]]) -> Update:
    def update_impls(draft: Draft, update: Mapping[str, Any]) -> None:
        definition = _definition(draft, update)
        definition["impls"] = change(list(definition.get("impls", ())), update)

    return update_impls


def _without(impls: list[Any], update: Mapping[str, Any]) -> list[Any]:
    left = [impl for impl in impls if str(impl.get("runtime")).lower() != update["runtime"].lower()]
    if len(left) == len(impls):
        raise illegal(f"There is no implementation for {update['runtime']}")
    return left


UPDATE_FUNCTION = {
    "addDefinition": _add_definition,
    "removeDefinition": _remove_definition,
    "addImpl": _change_impls(lambda impls, update: [*impls, update["implementation"]]),
    "updateImpl": _change_impls(lambda impls, update: [*_without(impls, update), update["implementation"]]),
    "removeImpl": _change_impls(_without),
}

FILESET = SCHEMA + "/filesets/{fileset}"
ROUTES = (
    *calls(
        "view",
        view,
        create_view,
        (CREATE_VIEW, ALTER_VIEW),
        "listViews createView loadView alterView dropView",
        {"replaceView": _replace_view},
    ),
    *calls(
        "topic",
        described,
        create_topic,
        (CREATE_TOPIC, ALTER_TOPIC),
        "listTopics createTopic loadTopic alterTopic dropTopic",
    ),
    *calls(
        "fileset",
        fileset,
        create_fileset,
        (CREATE_FILESET, ALTER_FILESET),
        "listFilesets createFileset loadFileset alterFileset dropFileset",
    ),
    Route("GET", f"{FILESET}/location", "Fileset.getFileLocation", location),
    Route("GET", f"{FILESET}/files", "Fileset.listFiles", files),
    *calls(
        "function",
        function,
        create_function,
        (CREATE_FUNCTION, ALTER_FUNCTION),
        "listFunctions registerFunction getFunction alterFunction dropFunction",
        UPDATE_FUNCTION,
    ),
)
