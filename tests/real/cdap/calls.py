"""A day of calls of CDAP's Java clients: somebody who may gets the answer, bob is refused first."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.real.cdap.client import entity, pattern, principal, role

RELEASES = ("3.4", "3.5", "4.3")


class Raises(NamedTuple):
    """The client throws; the class of its exception."""

    name: str
    message: str = ""


DONE = None
DENIED = {
    "3.4": Raises("IOException", "not authorized"),
    "": Raises("UnauthorizedException", "not authorized"),
}
NOT_HERE = Raises("IOException", "nothing was done")
FILTERED: dict[str, Any] = {"4.3": Raises("UnauthorizedException", "not authorized"), "": []}
"""Of a namespace in which one has nothing 4.3 lists nothing to anybody."""


class Call(NamedTuple):
    """One call; an answer that differs by release is a dictionary by release, "" for the others."""

    client: str
    method: str
    arguments: tuple[Any, ...]
    answer: Any = DONE
    bobs: Any = DENIED
    releases: tuple[str, ...] = RELEASES


ANYTHING = ...
NS, NEW = entity("namespace:ns1"), entity("namespace:ns2")
ETL = entity("artifact:ns1.etl2.1.0.0")
ORDERS, NO_DATASET = entity("dataset:ns1.orders"), entity("dataset:ns1.none")
CLICKS, MODULE = entity("stream:ns1.clicks"), entity("dataset_module:ns1.shapes")
KEY = entity("securekey:ns1.password")
OF_ETL = {"artifact": {"name": "etl2", "version": "1.0.0", "scope": "USER"}}
OF_SERVICES: dict[str, Any] = {"Service": []}
MEANT = {"name": "ns2", "description": "Sales", "config": {"scheduler.queue.name": "a"}}
SINCE_35 = ("3.5", "4.3")


def application(release: str, name: str = "shop") -> dict[str, str]:
    """An application's id; from 4.3 on it has a version."""
    return entity(f"application:ns1.{name}" + (".-SNAPSHOT" if release == "4.3" else ""))


def program(release: str) -> dict[str, str]:
    """The service of an application that is there from the beginning."""
    return entity(f"program:ns1.app.{'-SNAPSHOT.' if release == '4.3' else ''}service.web")


def namespaces() -> list[Call]:
    return [
        Call("Namespace", "create", (MEANT,)),
        Call("Namespace", "create", (MEANT,), Raises("NamespaceAlreadyExistsException")),
        Call("Namespace", "get", (NEW,), {"name": "ns2", "description": "Sales"}),
        Call("Namespace", "exists", (NEW,), True, {"3.4": DENIED["3.4"], "": True}),
        Call(
            "Namespace",
            "list",
            (),
            [{"name": "ns1"}, {"name": "ns2"}],
            {"3.4": [{"name": "ns1"}, {"name": "ns2"}], "": []},
        ),
        Call("Namespace", "updateProperties", (NEW, {**MEANT, "description": "Shop"})),
        Call("Namespace", "get", (NEW,), {"description": "Shop"}),
        Call("Namespace", "deleteDatasets", (NEW,), DONE, DONE),
        Call(
            "Namespace",
            "delete",
            (NEW,),
            DONE,
            {**DENIED, "3.4": Raises("NamespaceCannotBeDeletedException")},
        ),
    ]


def artifacts() -> list[Call]:
    shown = {"name": "etl2", "version": "1.0.0", "scope": "USER"}
    return [
        Call("Artifact", "add", (NS, "etl2", "a jar", "1.0.0")),
        Call("Artifact", "add", (NS, "etl2", "a jar", "1.0.0"), Raises("ArtifactAlreadyExistsException")),
        Call("Artifact", "list", (NS,), [{"name": "etl"}, shown], FILTERED),
        Call("Artifact", "list", (NS, "SYSTEM"), [], FILTERED),
        Call("Artifact", "listVersions", (NS, "etl2"), [shown]),
        Call("Artifact", "getArtifactInfo", (ETL,), shown),
        Call("Artifact", "writeProperties", (ETL, {"a": "1"})),
        Call("Artifact", "writeProperty", (ETL, "b", "2")),
        Call("Artifact", "getArtifactInfo", (ETL,), {"properties": {"a": "1", "b": "2"}}),
        Call("Artifact", "deleteProperty", (ETL, "a")),
        Call("Artifact", "getArtifactInfo", (ETL,), {"properties": {"b": "2"}}),
        Call("Artifact", "deleteProperties", (ETL,)),
        Call("Artifact", "getArtifactInfo", (ETL,), {"properties": {}}),
    ]


def applications(release: str) -> list[Call]:
    shop, old = application(release), application(release, "app")
    return [
        Call("Application", "deploy", (shop, OF_ETL), DONE, Raises("IOException", "not authorized")),
        Call("Application", "list", (NS,), [{"name": "app"}, {"name": "shop"}], FILTERED),
        Call("Application", "list", (NS, "etl2", "1.0.0"), [{"name": "shop"}], FILTERED),
        Call("Application", "list", (NS, ["etl2", "etl"], "2.0.0"), [], FILTERED),
        Call("Application", "get", (shop,), {"name": "shop", "artifact": OF_ETL["artifact"]}),
        Call("Application", "exists", (shop,), True),
        Call("Application", "update", (shop, OF_ETL)),
        Call("Application", "listAppVersions", (NS, "shop"), ["-SNAPSHOT"], releases=("4.3",)),
        Call("Application", "listPrograms", (old,), [{"type": "Service", "name": "web"}]),
        Call("Application", "listPrograms", (old, "Service"), [{"name": "web"}]),
        Call("Application", "listProgramsByType", (old,), {"Flow": []}),
        Call("Application", "listAllPrograms", (NS, "Service"), [{"name": "web"}], FILTERED),
        Call(
            "Application",
            "listAllPrograms",
            (NS,),
            {"Service": [{"name": "web"}]},
            {**FILTERED, "": OF_SERVICES},
        ),
        Call("Application", "delete", (shop,)),
        Call("Artifact", "delete", (ETL,)),
    ]


def datasets(jar: str) -> list[Call]:
    table = {"typeName": "table", "properties": {"ttl": "1"}, "description": "All of them"}
    return [
        Call("Dataset", "create", (ORDERS, table)),
        Call("Dataset", "create", (ORDERS, "table"), Raises("DatasetAlreadyExistsException")),
        Call(
            "Dataset",
            "list",
            (NS,),
            [{"name": "orders", "type": "table", "properties": {"ttl": "1"}}],
            FILTERED,
        ),
        Call("Dataset", "get", (ORDERS,), {"type": {"name": "table", "modules": []}}),
        Call("Dataset", "exists", (ORDERS,), True),
        Call("Dataset", "update", (ORDERS, {"ttl": "2"})),
        Call("Dataset", "getProperties", (ORDERS,), {"ttl": "2"}),
        Call("Dataset", "updateExisting", (ORDERS, {"more": "3"})),
        Call("Dataset", "truncate", (ORDERS,), NOT_HERE),
        Call("Dataset", "delete", (ORDERS,)),
        Call(
            "DatasetModule",
            "add",
            (MODULE, "com.example.Shapes", jar),
            DONE,
            Raises("IOException", "not authorized"),
        ),
        Call(
            "DatasetModule", "list", (NS,), [{"name": "shapes", "className": "com.example.Shapes"}], FILTERED
        ),
        Call("DatasetModule", "get", (MODULE,), {"name": "shapes"}),
        Call("DatasetModule", "exists", (MODULE,), True),
        Call("DatasetModule", "delete", (MODULE,)),
        Call("DatasetModule", "deleteAll", (NS,), DONE, DONE),
        Call("DatasetType", "list", (NS,), [{"name": "grid"}], FILTERED),
        Call("DatasetType", "get", (entity("dataset_type:ns1.grid"),), {"name": "grid"}),
        Call("DatasetType", "exists", (entity("dataset_type:ns1.grid"),), True),
    ]


def streams(jar: str) -> list[Call]:
    refused_upload = Raises("IOException", "not authorized")
    return [
        Call("Stream", "create", (CLICKS, {"ttl": 100, "description": "Of the shop"})),
        Call("Stream", "create", (CLICKS,)),
        Call("Stream", "list", (NS,), [{"name": "clicks"}], FILTERED),
        Call("Stream", "getConfig", (CLICKS,), {"ttl": 100, "description": "Of the shop"}),
        Call("Stream", "setTTL", (CLICKS, 60)),
        Call("Stream", "setDescription", (CLICKS, "Of every shop")),
        Call("Stream", "setStreamProperties", (CLICKS, {"notificationThresholdMB": 5})),
        Call("Stream", "getConfig", (CLICKS,), {"ttl": 60, "description": "Of every shop"}),
        Call("Stream", "sendEvent", (CLICKS, "an event"), NOT_HERE),
        Call("Stream", "asyncSendEvent", (CLICKS, "an event"), NOT_HERE),
        Call("Stream", "sendFile", (CLICKS, "text/plain", jar), NOT_HERE, refused_upload),
        Call("Stream", "sendBatch", (CLICKS, "text/plain", "events"), NOT_HERE, refused_upload),
        Call(
            "Stream",
            "getEvents",
            (CLICKS, "0", "now", 5, []),
            Raises("IOException", "501"),
            {"4.3": Raises("UnauthorizedException"), "": Raises("IOException", "403")},
        ),
        Call("Stream", "truncate", (CLICKS,), NOT_HERE),
        Call("Stream", "delete", (CLICKS,)),
    ]


def keys() -> list[Call]:
    asked = {"description": "Of the store", "data": "hunter2", "properties": {"a": "b"}}
    kept = {"name": "password", "description": "Of the store", "properties": {"a": "b"}}
    calls = [
        ("createKey", (KEY, asked), DONE, DENIED),
        ("listKeys", (NS,), {"password": "Of the store"}, {**FILTERED, "": {}}),
        ("getKeyMetadata", (KEY,), kept, DENIED),
        ("getData", (KEY,), Raises("IOException", "secure store"), DENIED),
        ("deleteKey", (KEY,), DONE, DENIED),
    ]
    return [Call("SecureStore", *call, releases=SINCE_35) for call in calls]


def programs(release: str) -> list[Call]:
    web, runs = program(release), [Call("Meta", "ping", (), DONE, DONE)]
    for method, more in [
        ("start", ()),
        ("stop", ()),
        ("getStatus", ()),
        ("getLiveInfo", ()),
        ("getRuntimeArgs", ()),
        ("setRuntimeArgs", ({"a": "b"},)),
        ("getProgramLogs", (0, 1)),
        ("getAllProgramRuns", (0, 1, 1)),
        ("getProgramRuns", ("ALL", 0, 1, 1)),
    ]:
        runs.append(Call("Program", method, (web, *more), NOT_HERE))
    return [*runs, Call("Meta", "getVersion", (), {"version": release}, {"version": release})]


def whole_namespace(release: str) -> list[Call]:
    """What takes all at once, last."""
    refused = {"3.4": Raises("IOException", "left"), "": Raises("UnauthorizedException", "left")}
    return [
        Call("Application", "deleteAll", (NS,), DONE, refused),
        Call("Namespace", "deleteAll", (), DONE, ANYTHING),
    ]


def day(release: str, jar: str) -> list[Call]:
    """All that a builder calls in a release."""
    calls = [*namespaces(), *artifacts(), *applications(release), *datasets(jar), *streams(jar), *keys()]
    calls += [*programs(release), *whole_namespace(release)]
    return [call for call in calls if release in call.releases]


def day_of_the_owner(release: str) -> list[Call]:
    """All that somebody calls who may grant."""
    readers, zoe, analysts = role("readers"), principal("user:zoe"), principal("group:analysts")
    app, shape = entity("namespace:ns1"), "entity" if release != "4.3" else "authorizable"
    read, write = {shape: "namespace:ns1", "action": "READ"}, {shape: "namespace:ns1", "action": "WRITE"}
    missing = Raises("RoleNotFoundException")
    nothing_there = {"4.3": DONE, "": Raises("NotFoundException")}
    refused = Raises("UnauthorizedException")
    like, gone = pattern("dataset:ns1.*"), entity("dataset:ns1.none")
    calls: list[tuple[Any, ...]] = [
        ("createRole", (readers,)),
        ("createRole", (readers,), Raises("RoleAlreadyExistsException")),
        ("listAllRoles", (), ["readers"]),
        ("grant", (app, principal("role:readers"), ["READ"])),
        ("grant", (app, zoe, ["READ", "WRITE"])),
        ("grant", (gone, zoe, ["READ"]), nothing_there, {"4.3": refused, "": Raises("NotFoundException")}),
        ("revoke", (gone, zoe, ["READ"]), nothing_there, {"4.3": refused, "": Raises("NotFoundException")}),
        ("addRoleToPrincipal", (readers, analysts)),
        ("addRoleToPrincipal", (role("none"), analysts), missing),
        ("listRoles", (analysts,), ["readers"]),
        ("listPrivileges", (zoe,), [read, write]),
        ("listPrivileges", (principal("role:readers"),), [read]),
        ("listPrivileges", (analysts,), [read]),
        ("listPrivileges", (principal("user:bob"),), [], []),
        ("removeRoleFromPrincipal", (readers, analysts)),
        ("removeRoleFromPrincipal", (role("none"), analysts), missing),
        ("listPrivileges", (analysts,), []),
        ("revoke", (app, zoe, ["READ"])),
        ("listPrivileges", (zoe,), [write]),
        ("revoke", (app,)),
        ("listPrivileges", (zoe,), []),
        ("dropRole", (readers,)),
        ("dropRole", (readers,), missing),
    ]
    if release == "4.3":
        calls += [
            ("grant", (like, analysts, ["READ"])),
            ("listPrivileges", (analysts,), [{"authorizable": "dataset:ns1.*", "action": "READ"}]),
            ("revoke", (like, analysts, ["READ"])),
            ("revoke", (like,)),
            ("listPrivileges", (analysts,), []),
        ]
    return [Call("Authorization", *call, **({} if len(call) > 3 else {"bobs": refused})) for call in calls]


JARS = "what is in jars is not read here"
WAITS = "asks another of these calls until it answers"
RUNS_IN_CDAP = "programs run in CDAP, and what there is of their instances and schedules is there"
ITSELF = "the client itself throws, without a call"
NOT_CALLED = {
    "ArtifactClient": dict.fromkeys(
        ("getApplicationClasses", "getPluginTypes", "getPluginSummaries", "getPluginInfo"), JARS
    ),
    "ApplicationClient": {
        **dict.fromkeys(("waitForDeployed", "waitForDeleted"), WAITS),
        **dict.fromkeys(("addSchedule", "enableSchedule"), RUNS_IN_CDAP),
        "getPlugins": JARS,
    },
    "ProgramClient": {
        **dict.fromkeys(
            (
                f"{verb}{what}Instances"
                for verb in ("get", "set")
                for what in ("Flowlet", "Worker", "Service")
            ),
            RUNS_IN_CDAP,
        ),
        **dict.fromkeys(("getWorkflowCurrent", "stopAll"), RUNS_IN_CDAP),
        "waitForStatus": WAITS,
    },
    **{
        name: dict.fromkeys(("waitForExists", "waitForDeleted"), WAITS)
        for name in ("DatasetClient", "DatasetModuleClient", "DatasetTypeClient")
    },
    "MetaClient": dict.fromkeys(("getCDAPConfig", "getHadoopConfig"), "the configuration of a CDAP is there"),
    "AuthorizationClient": dict.fromkeys(
        ("enforce", "isVisible", "createFilter", "initialize", "destroy"), ITSELF
    ),
}
"""What the clients can be asked and is not asked of the site, and why."""
