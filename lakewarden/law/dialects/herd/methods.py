"""The methods of Herd's services and the permissions they ask for, as its release 0.178 declares them.

A method with one rule stands under any one of the permissions before its list.  A method with several rules
names, for each, the field of the request whose namespace is meant and what is needed there.
"""

from __future__ import annotations

METHODS: dict[str, dict[str, str]] = {
    "AllowedAttributeValue": {
        "WRITE": "createAllowedAttributeValues deleteAllowedAttributeValues",
        "READ": "getAllowedAttributeValues",
    },
    "AttributeValueList": {
        "WRITE": "createAttributeValueList deleteAttributeValueList",
        "READ": "getAttributeValueList",
    },
    "BusinessObjectDataAttribute": {
        "WRITE or WRITE_ATTRIBUTE": (
            "createBusinessObjectDataAttribute updateBusinessObjectDataAttribute "
            "deleteBusinessObjectDataAttribute"
        ),
        "READ": "getBusinessObjectDataAttribute getBusinessObjectDataAttributes",
    },
    "BusinessObjectDataNotificationRegistration": {
        "READ": (
            "getBusinessObjectDataNotificationRegistration "
            "getBusinessObjectDataNotificationRegistrationsByNotificationFilter"
        ),
        "WRITE": "deleteBusinessObjectDataNotificationRegistration",
    },
    "BusinessObjectData": {
        "READ": (
            "checkBusinessObjectDataAvailability checkBusinessObjectDataAvailabilityCollection "
            "generateBusinessObjectDataDdl generateBusinessObjectDataDdlCollection "
            "getAllBusinessObjectDataByBusinessObjectDefinition "
            "getAllBusinessObjectDataByBusinessObjectFormat getBusinessObjectData "
            "getBusinessObjectDataVersions generateBusinessObjectDataPartitions searchBusinessObjectData"
        ),
        "WRITE": (
            "createBusinessObjectData deleteBusinessObjectData destroyBusinessObjectData "
            "invalidateUnregisteredBusinessObjectData restoreBusinessObjectData "
            "retryStoragePolicyTransition updateBusinessObjectDataParents "
            "updateBusinessObjectDataRetentionInformation"
        ),
        "WRITE or WRITE_ATTRIBUTE": "updateBusinessObjectDataAttributes",
    },
    "BusinessObjectDataStatus": {
        "READ": "getBusinessObjectDataStatus",
        "WRITE": "updateBusinessObjectDataStatus",
    },
    "BusinessObjectDataStorageFile": {
        "WRITE": "createBusinessObjectDataStorageFiles",
    },
    "BusinessObjectDataStorageUnit": {
        "WRITE": "createBusinessObjectDataStorageUnit",
    },
    "BusinessObjectDataStorageUnitStatus": {
        "WRITE": "updateBusinessObjectDataStorageUnitStatus",
    },
    "BusinessObjectDefinitionColumn": {
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": (
            "createBusinessObjectDefinitionColumn deleteBusinessObjectDefinitionColumn "
            "updateBusinessObjectDefinitionColumn"
        ),
    },
    "BusinessObjectDefinitionDescriptionSuggestion": {
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": "acceptBusinessObjectDefinitionDescriptionSuggestion",
    },
    "BusinessObjectDefinition": {
        "WRITE": (
            "createBusinessObjectDefinition updateBusinessObjectDefinition deleteBusinessObjectDefinition"
        ),
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": "updateBusinessObjectDefinitionDescriptiveInformation",
    },
    "BusinessObjectDefinitionSubjectMatterExpert": {
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": (
            "createBusinessObjectDefinitionSubjectMatterExpert "
            "deleteBusinessObjectDefinitionSubjectMatterExpert"
        ),
    },
    "BusinessObjectDefinitionTag": {
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": (
            "createBusinessObjectDefinitionTag deleteBusinessObjectDefinitionTag"
        ),
    },
    "BusinessObjectFormat": {
        "WRITE": (
            "createBusinessObjectFormat updateBusinessObjectFormat deleteBusinessObjectFormat "
            "updateBusinessObjectFormatAttributes updateBusinessObjectFormatAttributeDefinitions "
            "updateBusinessObjectFormatRetentionInformation "
            "updateBusinessObjectFormatSchemaBackwardsCompatibilityChanges"
        ),
        "READ": "generateBusinessObjectFormatDdlCollection",
        "WRITE or WRITE_DESCRIPTIVE_CONTENT": "updateBusinessObjectFormatParents",
    },
    "CustomDdl": {
        "WRITE": "createCustomDdl updateCustomDdl deleteCustomDdl",
        "READ": "getCustomDdl getCustomDdls",
    },
    "EmrClusterDefinition": {
        "WRITE": "createEmrClusterDefinition updateEmrClusterDefinition deleteEmrClusterDefinition",
        "READ": "getEmrClusterDefinition getEmrClusterDefinitions",
    },
    "Emr": {
        "READ": "getCluster",
        "EXECUTE": "createCluster terminateCluster addStepToCluster",
    },
    "JobDefinition": {
        "WRITE": "createJobDefinition updateJobDefinition",
        "READ": "getJobDefinition getJobDefinitionKeys",
    },
    "Job": {
        "EXECUTE": "createAndStartJob signalJob updateJob deleteJob",
        "READ": "getJob",
    },
    "NamespaceIamRoleAuthorization": {
        "WRITE": (
            "createNamespaceIamRoleAuthorization deleteNamespaceIamRoleAuthorization "
            "updateNamespaceIamRoleAuthorization"
        ),
        "READ": "getNamespaceIamRoleAuthorization getNamespaceIamRoleAuthorizationsByNamespace",
    },
    "Namespace": {
        "WRITE": "updateNamespaces",
    },
    "NotificationRegistrationStatus": {
        "WRITE": "updateNotificationRegistrationStatus",
    },
    "RelationalTableRegistration": {
        "WRITE": "createRelationalTableRegistration deleteRelationalTableRegistration",
    },
    "StoragePolicy": {
        "WRITE": "deleteStoragePolicy",
        "READ": "getStoragePolicy getStoragePolicyKeys",
    },
    "StorageUnitNotificationRegistration": {
        "WRITE": "deleteStorageUnitNotificationRegistration",
        "READ": (
            "getStorageUnitNotificationRegistration "
            "getStorageUnitNotificationRegistrationsByNotificationFilter"
        ),
    },
    "StorageUnit": {
        "READ": "getS3KeyPrefix getStorageUnitDownloadCredential",
        "WRITE": "getStorageUnitUploadCredential",
    },
    "UploadDownload": {
        "WRITE": "initiateUploadSingle extendUploadSingleCredentials",
        "READ": "initiateDownloadSingle initiateDownloadSingleBusinessObjectDataStorageFile",
        "WRITE_DESCRIPTIVE_CONTENT or WRITE": "initiateUploadSampleFile",
    },
    "UserNamespaceAuthorization": {
        "GRANT": (
            "createUserNamespaceAuthorization updateUserNamespaceAuthorization "
            "deleteUserNamespaceAuthorization"
        ),
        "READ": "getUserNamespaceAuthorization getUserNamespaceAuthorizationsByNamespace",
    },
}
"""Service to permissions to methods."""

RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "BusinessObjectDataNotificationRegistration.createBusinessObjectDataNotificationRegistration": (
        ("#request?.businessObjectDataNotificationRegistrationKey?.namespace", "WRITE"),
        ("#request?.businessObjectDataNotificationFilter?.namespace", "READ"),
        ("#request?.jobActions?.![namespace]", "EXECUTE"),
    ),
    "BusinessObjectDataNotificationRegistration.updateBusinessObjectDataNotificationRegistration": (
        ("#key?.namespace", "WRITE"),
        ("#request?.businessObjectDataNotificationFilter?.namespace", "READ"),
        ("#request?.jobActions?.![namespace]", "EXECUTE"),
    ),
    "StoragePolicy.createStoragePolicy": (
        ("#request?.storagePolicyKey?.namespace", "WRITE"),
        ("#request?.storagePolicyFilter?.namespace", "WRITE"),
    ),
    "StoragePolicy.updateStoragePolicy": (
        ("#storagePolicyKey?.namespace", "WRITE"),
        ("#request?.storagePolicyFilter?.namespace", "WRITE"),
    ),
    "StorageUnitNotificationRegistration.createStorageUnitNotificationRegistration": (
        ("#request?.storageUnitNotificationRegistrationKey?.namespace", "WRITE"),
        ("#request?.storageUnitNotificationFilter?.namespace", "READ"),
        ("#request?.jobActions?.![namespace]", "EXECUTE"),
    ),
    "StorageUnitNotificationRegistration.updateStorageUnitNotificationRegistration": (
        ("#notificationRegistrationKey?.namespace", "WRITE"),
        ("#request?.storageUnitNotificationFilter?.namespace", "READ"),
        ("#request?.jobActions?.![namespace]", "EXECUTE"),
    ),
}
"""Method to the fields of its request, each with the permission needed on the namespace it names."""
