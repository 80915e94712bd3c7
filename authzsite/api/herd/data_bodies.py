"""The bodies of the calls on business object data and on notifications of them."""

from __future__ import annotations

from authzsite.api.herd.body_schemas import Flag, Many, Record, Shape, Text, Whole

_FORMAT: dict[str, Shape] = {
    "namespace": Text(),
    "businessObjectDefinitionName": Text(),
    "businessObjectFormatUsage": Text(),
    "businessObjectFormatFileType": Text(),
    "businessObjectFormatVersion": Whole(),
}
_SUB_PARTITIONS = Many("partitionValue", Text())
DATA_CREATE = Record(
    "businessObjectDataCreateRequest",
    {
        **_FORMAT,
        "partitionKey": Text(),
        "partitionValue": Text(),
        "subPartitionValues": _SUB_PARTITIONS,
        "status": Text(),
        "createNewVersion": Flag(),
    },
)
DATA = Record(
    "businessObjectData",
    {
        "id": Whole(),
        **_FORMAT,
        "partitionKey": Text(),
        "partitionValue": Text(),
        "subPartitionValues": _SUB_PARTITIONS,
        "version": Whole(),
        "latestVersion": Flag(),
        "status": Text(),
    },
)
_DATA_KEY = Record(
    "businessObjectDataKey",
    {
        **_FORMAT,
        "partitionValue": Text(),
        "subPartitionValues": _SUB_PARTITIONS,
        "businessObjectDataVersion": Whole(),
    },
)
STATUS_UPDATE = Record("businessObjectDataStatusUpdateRequest", {"status": Text()})
STATUS_UPDATED = Record(
    "businessObjectDataStatusUpdateResponse",
    {"businessObjectDataKey": _DATA_KEY, "status": Text(), "previousStatus": Text()},
)
STATUS = Record("businessObjectDataStatusInformation", {"businessObjectDataKey": _DATA_KEY, "status": Text()})

_KEY = Record("notificationRegistrationKey", {"namespace": Text(), "notificationName": Text()})
_FILTER = Record(
    "businessObjectDataNotificationFilter",
    {
        **_FORMAT,
        "storageName": Text(),
        "newBusinessObjectDataStatus": Text(),
        "oldBusinessObjectDataStatus": Text(),
    },
)
_ACTION = Record("jobAction", {"namespace": Text(), "jobName": Text(), "correlationData": Text()})
_DEFINED: dict[str, Shape] = {
    "businessObjectDataEventType": Text(),
    "businessObjectDataNotificationFilter": _FILTER,
    "jobActions": Many("jobAction", _ACTION),
    "notificationRegistrationStatus": Text(),
}
_NAMED: dict[str, Shape] = {"businessObjectDataNotificationRegistrationKey": _KEY}
NOTIFICATION_CREATE = Record(
    "businessObjectDataNotificationRegistrationCreateRequest", {**_NAMED, **_DEFINED}
)
NOTIFICATION_UPDATE = Record("businessObjectDataNotificationRegistrationUpdateRequest", _DEFINED)
NOTIFICATION = Record("businessObjectDataNotificationRegistration", {"id": Whole(), **_NAMED, **_DEFINED})
NOTIFICATION_KEYS = Record(
    "businessObjectDataNotificationRegistrationKeys",
    {
        "businessObjectDataNotificationRegistrationKeys": Many(
            "businessObjectDataNotificationRegistrationKey", _KEY
        )
    },
)
NOTIFICATION_STATUS = Record(
    "notificationRegistrationStatusUpdateRequest", {"notificationRegistrationStatus": Text()}
)
NOTIFICATION_STATUS_CHANGED = Record(
    "notificationRegistrationStatusUpdateResponse",
    {"notificationRegistrationKey": _KEY, "notificationRegistrationStatus": Text()},
)
