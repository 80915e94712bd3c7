"""Every question a Herd answers: the wiki page of 2016 by its rows, the code by `Service.method`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakewarden.law.conditions import ANYTHING, Condition, can, owns
from lakewarden.law.dialects.base import Operation, Variants
from lakewarden.law.dialects.herd.methods import METHODS, RULES
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, ON_NAMESPACE, OPS, PERMISSIONS

OWNER = owns("herd")
"""The Herd's administrator, who passes every check."""


def _any_of(codes: Iterable[str]) -> Condition:
    condition: Condition = OWNER
    for code in codes:
        condition = condition | can(code)
    return condition


WRITE_OR_EXECUTE = "WRITE OR EXECUTE"
"""Either of them on a namespace, as what stands there and starts jobs needs it."""

READ, WRITE, EXECUTE, GRANT = map(_any_of, (("READ",), ("WRITE",), ("EXECUTE",), ("GRANT",)))
MAY_REVIEW = OWNER | can(DATA_OWNER) & can("READ")
MAY_GRANT = OWNER | can(DATA_OWNER) & can("GRANT")

_SCOPE: dict[str, Condition] = {
    "availability_and_ddl": READ,
    "availability_and_ddl_collection": READ,
    "upload_single_initiation": WRITE,
    "download_single_initiation": READ,
    "credential_extension": READ,
    "account_permissions_mapping.get": MAY_REVIEW,
    "account_permissions_mapping.post_put_delete": MAY_GRANT,
    "job_execute_post": EXECUTE,
    "job_execute_status": READ,
    "job_status_by_namespace": READ,
    "notification_registration.get": READ,
    "add_cluster_steps": EXECUTE,
    "get_cluster_starts_cluster": EXECUTE,
    "job_status": READ,
    "get_business_object_definitions": READ,
}
"""Rows of the page that need one thing whatever is done."""

_BY_METHOD = (
    "format_crud",
    "definition_crud",
    "data_crud_and_status_update",
    "upload_download_credential",
    "storage_policy",
    "job_definition_crud",
    "emr_cluster_definition_crud",
)
"""Rows that say "READ and/or WRITE": reading needs READ, everything else WRITE, and unsaid means both."""

_BY_FIELD: dict[str, tuple[tuple[str, str], ...]] = {
    "notification_registration.post_put_statusput": (
        ("every Job Definition that is triggered", "EXECUTE"),
        ("every BData in the Notification Filter", "READ"),
    ),
    **RULES,
}
"""Operations about several namespaces of one request, each with a need of its own."""

_NEEDS = {"GET": "READ", "POST": "WRITE", "PUT": "WRITE", "DELETE": "WRITE"}

FREE_OPERATIONS = {
    "namespace_crud": "Namespace CRUD",
    "data_provider_crud": "Data Provider CRUD",
    "partition_key_groups_and_expected_partition_values_crud": (
        "PartitionKeyGroups and ExpectedPartitionValues CRUD"
    ),
    "partition_key_groups_crud": "PartitionKeyGroups CRUD",
    "expected_partition_values_crud": "ExpectedPartitionValues CRUD",
    "storage_and_storage_platforms_crud": "Storage and StoragePlatforms CRUD",
    "storage_crud": "Storage CRUD",
    "storage_platforms_crud": "StoragePlatforms CRUD",
    "file_types_read": "File Types Read",
}
"""What is not under the authorization of namespaces, with the words of the page."""

_ANYWHERE = (*FREE_OPERATIONS, "Namespace.getNamespace", "CurrentUser.getCurrentUser")

_OF_THE_HERD: dict[str, Condition] = {
    "Namespace.createNamespace": ANYTHING,
    "Namespace.getNamespaces": ANYTHING,
    "Namespace.searchNamespaces": ANYTHING,
    "account_permissions_mapping": _any_of((DATA_OWNER,)),
    "UserNamespaceAuthorization.getUserNamespaceAuthorizationsByUserId": _any_of((DATA_OWNER,)),
    "UserNamespaceAuthorization.deleteUserNamespaceAuthorizationsByUserId": _any_of((DATA_OWNER,)),
    "storage_policy": _any_of((OPS,)),
}

_ABOUT_JOBS = ("job_", "Job.", "JobDefinition.")
_ABOUT = {
    "BusinessObjectData.getBusinessObjectData": "business_object_data",
    "BusinessObjectDataStatus.updateBusinessObjectDataStatus": "business_object_data",
    "BusinessObjectDataNotificationRegistration.getBusinessObjectDataNotificationRegistration": (
        "data_notification"
    ),
}
_CHANGES_ACCESS = ("account_permissions_mapping", "Role.", "UserNamespaceAuthorization.")


def _rows() -> Iterable[tuple[str, Mapping[str, Condition]]]:
    for code in ON_NAMESPACE:
        yield code, {"namespace": _any_of((code,))}
    yield WRITE_OR_EXECUTE, {"namespace": _any_of(("WRITE", "EXECUTE"))}
    for name, condition in _SCOPE.items():
        yield name, {"namespace": condition}
    for name in _BY_METHOD:
        of_the_herd = {"herd": _OF_THE_HERD[name]} if name in _OF_THE_HERD else {}
        yield name, {"namespace": OWNER | can("READ") & can("WRITE"), **of_the_herd}
        yield from ((variant_of(name, code), {"namespace": _any_of((code,))}) for code in ("READ", "WRITE"))
    yield from _fields()
    for service, by_permission in METHODS.items():
        for codes, methods in by_permission.items():
            for method in methods.split():
                yield f"{service}.{method}", {"namespace": _any_of(codes.split(" or "))}
    yield from ((name, {"herd": ANYTHING, "namespace": ANYTHING}) for name in _ANYWHERE)
    yield from ((name, {"herd": each}) for name, each in _OF_THE_HERD.items() if name not in _BY_METHOD)
    yield "Namespace.deleteNamespace", {"namespace": MAY_GRANT}
    yield "Role.getRole", {"role": OWNER}
    yield "Role.assignRole", {"role": OWNER, "herd": OWNER}


def _fields() -> Iterable[tuple[str, Mapping[str, Condition]]]:
    for name, rules in _BY_FIELD.items():
        needed = sorted({code for _, code in rules})
        whole: Condition = can(needed[0])
        for code in needed[1:]:
            whole = whole & can(code)
        yield name, {"namespace": OWNER | whole}
        yield from ((variant_of(name, code), {"namespace": _any_of((code,))}) for code in needed)


def variant_of(name: str, code: str) -> str:
    """What a part of an operation is called that needs one permission alone."""
    return f"{name} [{code}]"


def plain(field: str) -> str:
    """A request's field without the marks of the expression language: `request.jobActions.namespace`."""
    return field.lstrip("#").replace("?.", ".").replace("![namespace]", "namespace")


def _label(name: str) -> str:
    if name in PERMISSIONS:
        return PERMISSIONS[name].label
    if name == WRITE_OR_EXECUTE:
        return "Write or execute"
    words = name.replace("_", " ").replace(".", ": ", 1)
    return words[0].upper() + words[1:]


def _placed(name: str, conditions: Mapping[str, Condition]) -> Mapping[str, Condition]:
    """What is about jobs or data is asked of these too; rights in their namespace come down to them."""
    if name.startswith(_ABOUT_JOBS) and name != "JobDefinition.createJobDefinition":
        return {**conditions, "job_definition": conditions["namespace"]}
    if name in _ABOUT:
        return {**conditions, _ABOUT[name]: conditions["namespace"]}
    return conditions


OPERATIONS = {
    name: Operation(name, _label(name), _placed(name, each), access_control=name.startswith(_CHANGES_ACCESS))
    for name, each in _rows()
}

VARIANTS: dict[str, Variants] = {
    "namespace_crud": Variants(
        "action", "method", {"PUT": "Namespace.updateNamespaces", "DELETE": "Namespace.deleteNamespace"}
    ),
    **{
        name: Variants("action", "method", {verb: variant_of(name, code) for verb, code in _NEEDS.items()})
        for name in _BY_METHOD
    },
    **{
        name: Variants(
            "resource",
            "field",
            {text: variant_of(name, code) for field, code in rules for text in (field, plain(field))},
        )
        for name, rules in _BY_FIELD.items()
    },
}
