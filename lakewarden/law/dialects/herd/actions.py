"""Plain names for what can be done, and the operation each of them asks for."""

from __future__ import annotations

from lakewarden.law.dialects.herd.operations import FREE_OPERATIONS

ACTIONS: dict[str, dict[str, str]] = {
    "herd": {
        "read": "Namespace.getNamespaces",
        "use": "Namespace.getNamespaces",
        "create_namespace": "Namespace.createNamespace",
        "grant": "Role.assignRole",
        "set_owner": "Role.assignRole",
    },
    "namespace": {
        "read": "READ",
        "write": "WRITE",
        "execute": "EXECUTE",
        "use": "Namespace.getNamespace",
        "alter": "Namespace.updateNamespaces",
        "create_job_definition": "JobDefinition.createJobDefinition",
        "drop": "Namespace.deleteNamespace",
        "grant": "account_permissions_mapping.post_put_delete",
    },
    "job_definition": {
        "read": "JobDefinition.getJobDefinition",
        "alter": "JobDefinition.updateJobDefinition",
        "execute": "job_execute_post",
    },
    "business_object_data": {
        "read": "BusinessObjectData.getBusinessObjectData",
        "write": "BusinessObjectDataStatus.updateBusinessObjectDataStatus",
    },
    "data_notification": {
        "read": "BusinessObjectDataNotificationRegistration.getBusinessObjectDataNotificationRegistration",
    },
    "role": {"read": "Role.getRole", "grant": "Role.assignRole"},
}

SYNONYMS = {words: operation for operation, words in FREE_OPERATIONS.items()}
"""Names of operations that are also understood as the wiki page of 2016 writes them."""
