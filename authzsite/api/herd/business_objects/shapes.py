"""The bodies of the calls on definitions, formats and storage policies."""

from __future__ import annotations

from authzsite.api.herd.body_schemas import Flag, Many, Record, Shape, Text, Whole

_ATTRIBUTES = Many("attribute", Record("attribute", {"name": Text(), "value": Text()}))
_DEFINITION_KEY: dict[str, Shape] = {"namespace": Text(), "businessObjectDefinitionName": Text()}
_DESCRIBED: dict[str, Shape] = {"description": Text(), "displayName": Text(), "attributes": _ATTRIBUTES}
DEFINITION_CREATE = Record(
    "businessObjectDefinitionCreateRequest", {**_DEFINITION_KEY, "dataProviderName": Text(), **_DESCRIBED}
)
DEFINITION_UPDATE = Record("businessObjectDefinitionUpdateRequest", _DESCRIBED)
DEFINITION = Record(
    "businessObjectDefinition",
    {"id": Whole(), **_DEFINITION_KEY, "dataProviderName": Text(), **_DESCRIBED, "createdByUserId": Text()},
)
DEFINITION_KEYS = Record(
    "businessObjectDefinitionKeys",
    {
        "businessObjectDefinitionKeys": Many(
            "businessObjectDefinitionKey", Record("businessObjectDefinitionKey", _DEFINITION_KEY)
        )
    },
)

_FORMAT_NAME: dict[str, Shape] = {
    **_DEFINITION_KEY,
    "businessObjectFormatUsage": Text(),
    "businessObjectFormatFileType": Text(),
}
_VERSION: dict[str, Shape] = {"businessObjectFormatVersion": Whole()}
_COLUMNS = Many(
    "column",
    Record(
        "column",
        {
            "name": Text(),
            "type": Text(),
            "size": Text(),
            "required": Flag(),
            "defaultValue": Text(),
            "description": Text(),
        },
    ),
)
_SCHEMA = Record(
    "schema",
    {
        "columns": _COLUMNS,
        "partitions": _COLUMNS,
        "nullValue": Text(),
        "delimiter": Text(),
        "escapeCharacter": Text(),
        "partitionKeyGroup": Text(),
    },
)
_OF_FORMAT: dict[str, Shape] = {
    "description": Text(),
    "documentSchema": Text(),
    "documentSchemaUrl": Text(),
    "attributes": _ATTRIBUTES,
    "schema": _SCHEMA,
}
FORMAT_CREATE = Record(
    "businessObjectFormatCreateRequest", {**_FORMAT_NAME, "partitionKey": Text(), **_OF_FORMAT}
)
FORMAT_UPDATE = Record("businessObjectFormatUpdateRequest", _OF_FORMAT)
FORMAT = Record(
    "businessObjectFormat",
    {
        "id": Whole(),
        **_FORMAT_NAME,
        **_VERSION,
        "latestVersion": Flag(),
        "partitionKey": Text(),
        **_OF_FORMAT,
    },
)
FORMAT_KEYS = Record(
    "businessObjectFormatKeys",
    {
        "businessObjectFormatKeys": Many(
            "businessObjectFormatKey", Record("businessObjectFormatKey", {**_FORMAT_NAME, **_VERSION})
        )
    },
)

_POLICY_KEY = Record("storagePolicyKey", {"namespace": Text(), "storagePolicyName": Text()})
_POLICY: dict[str, Shape] = {
    "storagePolicyRule": Record("storagePolicyRule", {"ruleType": Text(), "ruleValue": Whole()}),
    "storagePolicyFilter": Record(
        "storagePolicyFilter",
        {**_FORMAT_NAME, "storageName": Text(), "doNotTransitionLatestValid": Flag()},
    ),
    "storagePolicyTransition": Record("storagePolicyTransition", {"transitionType": Text()}),
    "status": Text(),
}
POLICY_CREATE = Record("storagePolicyCreateRequest", {"storagePolicyKey": _POLICY_KEY, **_POLICY})
POLICY_UPDATE = Record("storagePolicyUpdateRequest", _POLICY)
POLICY = Record("storagePolicy", {"id": Whole(), "storagePolicyKey": _POLICY_KEY, **_POLICY})
POLICY_KEYS = Record("storagePolicyKeys", {"storagePolicyKeies": Many("storagePolicyKey", _POLICY_KEY)})
"""The list has the name by which the original and its client know it."""
