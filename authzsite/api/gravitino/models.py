"""Models, their versions, aliases and addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils import timezone

from authzsite.api.gravitino import altering
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    RENAME,
    filled,
    listed,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import Problem, illegal
from authzsite.api.gravitino.leaf_objects import SCHEMA, calls, telling
from authzsite.api.gravitino.wire import Audit, Later, Wire, described
from catalog.models import Detail
from policies.services import object_details
from policies.services.object_details import UNNAMED

CREATE = shape({"name": required(filled), "comment": text, "properties": strings})
ALTER = updates({**RENAME, **COMMENT, **PROPERTIES})
LINK = shape(
    {"uri": text, "uris": strings, "comment": text, "aliases": listed(filled), "properties": strings}
)
ALTER_VERSION = updates(
    {
        **COMMENT,
        **PROPERTIES,
        "updateUri": {"newUri": required(filled), "uriName": text},
        "addUri": {"uri": required(filled), "uriName": required(filled)},
        "removeUri": {"uriName": required(filled)},
        "updateAliases": {"aliasesToAdd": listed(filled), "aliasesToRemove": listed(filled)},
    }
)
Version = dict[str, Any]


def wire(name: str, detail: Detail, audit: Audit) -> Wire:
    return described(name, detail, audit) | {"latestVersion": detail.content.get("latest", -1) + 1}


def register(call: Call) -> Later:
    call.refuse_connected()
    call.need_kind("model")
    node = altering.make(call, "model")
    return lambda: telling("model", wire)(node)


# versions


def versions(call: Call) -> list[Version]:
    return [dict(item) for item in call.detail.content.get("versions", ())]


def version_of(call: Call, found: Iterable[Version]) -> Version:
    """The version that the path names by number or alias.  Raises Problem."""
    number, alias = call.names.get("version"), call.names.get("alias")
    for item in found:
        if alias in item["aliases"] if alias is not None else str(item["version"]) == number:
            return item
    message = f"Model {call.node.name} has no version {alias or number}"
    raise Problem(404, 1003, "NoSuchModelVersionException", message)


def shown(version: Version) -> Wire:
    item_wire = {**version, "properties": object_details.shown(version["properties"])}
    return item_wire | {"comment": version["comment"], "uri": version["uris"].get(UNNAMED)}


def keep(call: Call, found: list[Version], **content: Any) -> None:
    new_content = {**call.detail.content, "versions": found, **content}
    object_details.describe(call.node, what="the versions", content=new_content, **call.by)


def list_versions(call: Call) -> Wire:
    if call.asks("details"):
        return {"infos": [shown(version) for version in versions(call)]}
    return {"versions": [version["version"] for version in versions(call)]}


def load_version(call: Call) -> Wire:
    return {"modelVersion": shown(version_of(call, versions(call)))}


def link(call: Call) -> Wire:
    body, known_versions = call.body, versions(call)
    uris = dict(body.get("uris", {}))
    if body.get("uri"):
        uris.setdefault(UNNAMED, body["uri"])
    if not uris or not all(uris.values()):
        raise illegal("A model version needs an address")
    aliases = list(dict.fromkeys(body.get("aliases", ())))
    _check_aliases(known_versions, aliases)
    number = call.detail.content.get("latest", -1) + 1
    audit = {"creator": call.principal.name, "createTime": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    new = {"version": number, "uris": uris, "comment": body.get("comment", ""), "aliases": aliases}
    new |= {"properties": object_details.sealed(body.get("properties", {})), "audit": audit}
    keep(call, [*known_versions, new], latest=number)
    return {}


def _check_aliases(versions_: Iterable[Version], aliases: Iterable[str]) -> None:
    """Raises Problem when an alias stands for another version already, or could be taken for a number."""
    used = {alias for item in versions_ for alias in item["aliases"]}
    for alias in aliases:
        if alias.isdigit():
            raise illegal("An alias is no number")
        if alias in used:
            message = f"Alias {alias} already exists"
            raise Problem(409, 1004, "ModelVersionAliasesAlreadyExistException", message)


def alter_version(call: Call) -> Wire:
    known_versions = versions(call)
    version = version_of(call, known_versions)
    for update in call.body["updates"]:
        others = [other for other in known_versions if other is not version]
        UPDATES[update["@type"]](version, update, others)
    keep(call, known_versions)
    return {"modelVersion": shown(version)}


def delete_version(call: Call) -> Wire:
    known_versions = [] if call.absent else versions(call)
    try:
        removed = version_of(call, known_versions)
    except Problem:
        return {"dropped": False, "deleted": False}
    keep(call, [item for item in known_versions if item is not removed])
    return {"dropped": True, "deleted": True}


def uri(call: Call) -> Wire:
    version = version_of(call, versions(call))
    default = object_details.shown(version["properties"]).get("default-uri-name", UNNAMED)
    name = call.query.get("uriName") or default
    if name not in version["uris"]:
        message = f"Version {version['version']} has no address {name}"
        raise Problem(404, 1003, "NoSuchModelVersionURINameException", message)
    return {"uri": version["uris"][name]}


Change = Callable[[Version, Mapping[str, Any], list[Version]], None]


def _set_uri(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    version["uris"] = {
        **version["uris"],
        update.get("uriName", UNNAMED): update.get("newUri") or update["uri"],
    }


def _remove_uri(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    left = {name: place for name, place in version["uris"].items() if name != update["uriName"]}
    if not left:
        raise illegal("A model version keeps at least one address")
    version["uris"] = left


def _aliases(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    removed, new = update.get("aliasesToRemove", ()), update.get("aliasesToAdd", ())
    _check_aliases(others, new)
    left = [alias for alias in version["aliases"] if alias not in removed]
    version["aliases"] = list(dict.fromkeys([*left, *new]))


def _comment(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    version["comment"] = update.get("newComment", "")


def _set(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    new = object_details.sealed({update["property"]: update["value"]}, version["properties"])
    version["properties"] = {**version["properties"], **new}


def _remove(version: Version, update: Mapping[str, Any], others: list[Version]) -> None:
    version["properties"] = {
        key: value for key, value in version["properties"].items() if key != update["property"]
    }


UPDATES: dict[str, Change] = {
    "updateComment": _comment,
    "setProperty": _set,
    "removeProperty": _remove,
    "updateUri": _set_uri,
    "addUri": _set_uri,
    "removeUri": _remove_uri,
    "updateAliases": _aliases,
}


def of_version(path: str, by: str) -> Iterable[Route]:
    """The calls on one version, named by its number or by an alias."""
    yield Route("GET", path, f"Model.getModelVersion{by}", load_version)
    yield Route("PUT", path, f"Model.alterModelVersion{by}", alter_version, ALTER_VERSION)
    yield Route("DELETE", path, f"Model.deleteModelVersion{by}", delete_version, absent_ok=True)
    yield Route("GET", f"{path}/uri", f"Model.getModelVersionUri{by}", uri)


MODEL = SCHEMA + "/models/{model}"
ROUTES = (
    *calls(
        "model", wire, register, (CREATE, ALTER), "listModels registerModel getModel alterModel deleteModel"
    ),
    Route("GET", f"{MODEL}/versions", "Model.listModelVersions", list_versions),
    Route("POST", f"{MODEL}/versions", "Model.linkModelVersion", link, LINK),
    *of_version(MODEL + "/versions/{version}", ""),
    *of_version(MODEL + "/aliases/{alias}", "ByAlias"),
)
