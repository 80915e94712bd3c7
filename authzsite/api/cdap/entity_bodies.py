"""How each kind of entity stands in CDAP's paths, what clients say of it, and how it is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from authzsite.api.cdap.problems import Problem
from catalog.models import Detail
from lakewarden.law.dialects.cdap.authorizable import Authorizable, of
from policies.services import object_details
from policies.services.entities import PRINCIPAL

SNAPSHOT = "-SNAPSHOT"
"""The version of what was given none."""
APP_VERSION = "appVersion"
"""Where a body says which version of an application it makes; CDAP's own bodies leave it to the path."""
SYSTEM = "system"
_NAMESPACE = re.compile(r"[a-zA-Z0-9_]+")
_NAME = r"[a-zA-Z0-9_-]+"
_BUILT_IN = frozenset(
    {
        "countertimeseriestable",
        "cube",
        "externaldataset",
        "fileset",
        "indexedobjectstore",
        "indexedtable",
        "keyvaluetable",
        "multiobjectstore",
        "objectstore",
        "partitionedfileset",
        "table",
        "timepartitionedfileset",
        "timeseriestable",
    }
)
_BUILT_IN_CLASSES = ("co.cask.cdap.api.dataset.", "io.cdap.cdap.api.dataset.")


class Description(NamedTuple):
    """What a client says of an entity that it makes or changes; None for what it does not mention."""

    comment: str | None = None
    principal: str = ""
    made_with: Authorizable | None = None
    content: Mapping[str, Any] = {}
    properties: Mapping[str, str] | None = None

    def kept(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of it, secrets encrypted, where that was kept before."""
        if self.properties is None:
            return dict(self.content)
        sealed = object_details.sealed(self.properties, before.get("properties"))
        return {**self.content, "properties": sealed}


@dataclass(frozen=True)
class Shown:
    """An entity that is there, for an answer."""

    entity: Authorizable
    detail: Detail | None

    @property
    def name(self) -> str:
        return self.entity.parts[-1]

    @property
    def description(self) -> str:
        return self.detail.comment if self.detail else ""

    def value(self, key: str, otherwise: Any = None) -> Any:
        content = self.detail.content if self.detail else {}
        return content.get(key, otherwise)

    @property
    def version(self) -> str:
        return str(self.value("version", SNAPSHOT))

    @property
    def principal(self) -> dict[str, str]:
        value = self.value(PRINCIPAL)
        return {"principal": value} if value else {}

    @property
    def properties(self) -> dict[str, str]:
        return object_details.shown(self.value("properties", {}))


@dataclass(frozen=True)
class Kind:
    """A type of entity: the pattern of its names, how a body is read, how one is told in a list and alone."""

    type: str
    legal: re.Pattern[str]
    read: Callable[[str, Mapping[str, Any]], Description]
    brief: Callable[[Shown], Any]
    whole: Callable[[Shown], dict[str, Any]]

    def entity(self, namespace: str, name: str) -> Authorizable:
        """The entity of that name.  Raises Problem for a name that no client could give it."""
        if namespace:
            namespace_named(namespace)
        if not self.legal.fullmatch(name):
            raise Problem(
                400, f"Invalid {self.type} name '{name}': it is not of the form {self.legal.pattern}"
            )
        return of(self.type, *(part for part in (namespace, name) if part))

    def all_in(self, namespace: str) -> Authorizable:
        """Whatever of this kind is in a namespace.  Raises Problem."""
        return of(self.type, *namespace_named(namespace).parts, *("*" * (3 if self.type == "program" else 1)))


def namespace_named(name: str) -> Authorizable:
    """The namespace of that name.  Raises Problem."""
    if not _NAMESPACE.fullmatch(name):
        raise Problem(400, "Namespace id can contain only alphanumeric characters or '_'.")
    return of("namespace", name)


def text(body: Mapping[str, Any], key: str) -> str:
    """A text of the body, empty when it is not there.  Raises Problem for anything else."""
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Problem(400, f"{key} must be a text")
    return value or ""


def texts(body: Mapping[str, Any], key: str) -> dict[str, str]:
    """A map of texts.  Raises Problem for anything else."""
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or any(not isinstance(item, str) for item in value.values()):
        raise Problem(400, f"{key} must be a JSON object of texts")
    return value


def _properties(body: Mapping[str, Any]) -> dict[str, str] | None:
    return texts(body, "properties") if "properties" in body else None


def _comment(body: Mapping[str, Any]) -> str | None:
    return text(body, "description") if "description" in body else None


# namespaces


def _read_namespace(_: str, body: Mapping[str, Any]) -> Description:
    config = body.get("config")
    if config is not None and not isinstance(config, dict):
        raise Problem(400, "config must be a JSON object")
    kept = {key: value for key, value in (config or {}).items() if isinstance(value, str)}
    principal = kept.pop("principal", "") or text(body, "principal")
    return Description(_comment(body), principal, properties=kept)


def _namespace(shown: Shown) -> dict[str, Any]:
    config = {"scheduler.queue.name": "", **shown.properties, **shown.principal}
    return {"name": shown.name, "description": shown.description, "config": config}


# applications and artifacts


def artifact_of(namespace: str, content: Mapping[str, Any]) -> Authorizable | None:
    """The artifact that an application of a namespace was deployed from; None for anything else."""
    kept = content.get("artifact")
    return _artifact_in(namespace, kept["scope"], kept["name"]) if kept else None


def _artifact_in(namespace: str, scope: str, name: str) -> Authorizable:
    return KINDS["artifacts"].entity(SYSTEM if scope == "SYSTEM" else namespace, name)


def _read_application(namespace: str, body: Mapping[str, Any]) -> Description:
    artifact = body.get("artifact")
    version = {"version": text(body, APP_VERSION)} if APP_VERSION in body else {}
    if artifact is None:
        return Description(_comment(body), text(body, "principal"), content=version)
    if not isinstance(artifact, dict) or not text(artifact, "name"):
        raise Problem(400, "artifact must be a JSON object with name, version and scope")
    scope = text(artifact, "scope").upper() or "USER"
    made_with = _artifact_in(namespace, scope, text(artifact, "name"))
    kept = {"name": made_with.parts[-1], "version": text(artifact, "version") or SNAPSHOT, "scope": scope}
    return Description(_comment(body), text(body, "principal"), made_with, {**version, "artifact": kept})


def _application(shown: Shown) -> dict[str, Any]:
    return {
        "type": "App",
        "name": shown.name,
        "version": shown.version,
        "description": shown.description,
        "artifact": shown.value("artifact", {}),
        **({"ownerPrincipal": shown.value(PRINCIPAL)} if shown.principal else {}),
    }


def _application_detail(shown: Shown) -> dict[str, Any]:
    return {
        "name": shown.name,
        "appVersion": shown.version,
        "description": shown.description,
        "artifact": shown.value("artifact", {}),
        "programs": [],
        **shown.principal,
    }


def _read_artifact(_: str, body: Mapping[str, Any]) -> Description:
    version = text(body, "version")
    content = {"version": version} if version else {}
    return Description(_comment(body), content=content, properties=_properties(body))


def _artifact(shown: Shown) -> dict[str, Any]:
    scope = "SYSTEM" if shown.entity.parts[0] == SYSTEM else "USER"
    return {"name": shown.name, "version": shown.version, "scope": scope}


def _artifact_detail(shown: Shown) -> dict[str, Any]:
    return {**_artifact(shown), "classes": {"apps": [], "plugins": []}, "properties": shown.properties}


def _read_program(_: str, body: Mapping[str, Any]) -> Description:
    return Description(_comment(body))


def _program(shown: Shown) -> dict[str, Any]:
    _, app, type, name = shown.entity.parts
    return {"type": type.capitalize(), "app": app, "name": name, "description": shown.description}


# data


def _read_dataset(namespace: str, body: Mapping[str, Any]) -> Description:
    type = text(body, "typeName")
    built_in = type.casefold() in _BUILT_IN or type.startswith(_BUILT_IN_CLASSES)
    made_with = None if built_in or not type else of("dataset_type", namespace, type)
    content = {"type": type} if type else {}
    return Description(_comment(body), text(body, "principal"), made_with, content, _properties(body))


def _dataset(shown: Shown) -> dict[str, Any]:
    return {
        "name": shown.name,
        "type": shown.value("type", ""),
        "description": shown.description,
        "properties": shown.properties,
    }


def _dataset_detail(shown: Shown) -> dict[str, Any]:
    type = {"name": shown.value("type", ""), "modules": []}
    return {"spec": {**_dataset(shown), "datasetSpecs": {}}, "type": type, **shown.principal}


def _read_module(_: str, body: Mapping[str, Any]) -> Description:
    return Description(_comment(body), content={"className": text(body, "className")})


def _module(shown: Shown) -> dict[str, Any]:
    return {"name": shown.name, "className": shown.value("className", "")}


def _type(shown: Shown) -> dict[str, Any]:
    return {"name": shown.name, "modules": []}


def _read_stream(_: str, body: Mapping[str, Any]) -> Description:
    kept: dict[str, Any] = {}
    for key in ("ttl", "notification.threshold.mb"):
        if key in body:
            value = body[key]
            if isinstance(value, str) and value.isascii() and value.isdigit():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
                raise Problem(400, f"{key} must be a number that is not negative")
            kept[key] = value
    if body.get("format") is not None:
        if not isinstance(body["format"], dict):
            raise Problem(400, "format must be a JSON object")
        kept["format"] = {"name": text(body["format"], "name")}
    return Description(_comment(body), text(body, "principal"), content=kept)


def _stream(shown: Shown) -> dict[str, Any]:
    return {"name": shown.name}


def _stream_detail(shown: Shown) -> dict[str, Any]:
    return {
        "name": shown.name,
        "ttl": shown.value("ttl", 9223372036854775),
        "format": shown.value("format", {"name": "text"}),
        "notification.threshold.mb": shown.value("notification.threshold.mb", 1024),
        "description": shown.description,
        **shown.principal,
    }


def _read_key(_: str, body: Mapping[str, Any]) -> Description:
    if not text(body, "data"):
        raise Problem(400, "The data field must not be empty")
    # what the key holds stays in CDAP's own secure store
    return Description(_comment(body), properties=_properties(body))


def _key(shown: Shown) -> dict[str, Any]:
    return {"name": shown.name, "description": shown.description, "properties": shown.properties}


def _kind(type: str, read: Any, brief: Any, whole: Any = None, legal: str = _NAME) -> Kind:
    return Kind(type, re.compile(legal), read, brief, whole or brief)


_DATASET = r"[$.a-zA-Z0-9_-]+"
NAMESPACE = _kind("namespace", _read_namespace, _namespace, legal=_NAMESPACE.pattern)
PROGRAM = _kind("program", _read_program, _program)
KINDS: Mapping[str, Kind] = {
    "apps": _kind("application", _read_application, _application, _application_detail),
    "artifacts": _kind("artifact", _read_artifact, _artifact, _artifact_detail),
    "data/datasets": _kind("dataset", _read_dataset, _dataset, _dataset_detail, _DATASET),
    "data/modules": _kind("dataset_module", _read_module, _module, legal=_DATASET),
    "data/types": _kind("dataset_type", _read_program, _type, legal=_DATASET),
    "streams": _kind("stream", _read_stream, _stream, _stream_detail),
    "securekeys": _kind("securekey", _read_key, _key),
}
"""By the place in the paths."""
PROGRAMS: Mapping[str, str] = {
    "flows": "flow",
    "mapreduce": "mapreduce",
    "services": "service",
    "spark": "spark",
    "workers": "worker",
    "workflows": "workflow",
}
"""The types of programs by their place in the paths."""
