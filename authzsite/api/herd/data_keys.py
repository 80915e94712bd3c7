"""How business object data are named: by format, partition and version, in paths, queries and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest

from authzsite.api.herd import checks
from authzsite.api.herd.body_schemas import Whole
from authzsite.api.herd.problems import Problem
from authzsite.api.strictjson import BadBody
from catalog.nodes import Node
from catalog.queries import below

STATUSES = (
    *("ARCHIVED", "DELETED", "EXPIRED", "INVALID"),
    *("PROCESSING", "RE-ENCRYPTING", "UPLOADING", "VALID"),
)
FIELDS = {
    "businessObjectDefinitionName": ("A business object definition name", "Business object definition name"),
    "businessObjectFormatUsage": ("A business object format usage", "Business object format usage"),
    "businessObjectFormatFileType": (
        "A business object format file type",
        "Business object format file type",
    ),
}
SUB_PARTITIONS = 4


@dataclass(frozen=True)
class DataKey:
    """Of which format, which partition and which version; the namespace is said beside it."""

    definition: str
    usage: str
    file_type: str
    format_version: int
    partition: str
    sub_partitions: tuple[str, ...] = ()
    version: int | None = None

    @property
    def series(self) -> str:
        """What all versions of the same data are called by; no part of it has a slash."""
        parts = (self.definition, self.usage, self.file_type, str(self.format_version), self.partition)
        return "/".join((*parts, *self.sub_partitions))

    def format(self) -> dict[str, Any]:
        return {
            "businessObjectDefinitionName": self.definition,
            "businessObjectFormatUsage": self.usage,
            "businessObjectFormatFileType": self.file_type,
            "businessObjectFormatVersion": self.format_version,
        }

    def wire(self) -> dict[str, Any]:
        return {
            **self.format(),
            "partitionValue": self.partition,
            "subPartitionValues": list(self.sub_partitions),
        }


def of_body(body: Mapping[str, Any]) -> DataKey:
    """The key that a body gives, its version unsaid.  Raises Problem."""
    definition, usage, file_type = (checks.named(body[name], *words) for name, words in FIELDS.items())
    subs = tuple(
        checks.named(value, "A subpartition value", "Subpartition value")
        for value in body["subPartitionValues"] or ()
    )
    if len(subs) > SUB_PARTITIONS:
        raise Problem(400, f"Exceeded maximum number of allowed subpartitions: {SUB_PARTITIONS}.")
    if body["businessObjectFormatVersion"] is None:
        raise Problem(400, "A business object format version must be specified.")
    partition = checks.named(body["partitionValue"], "A partition value", "Partition value")
    version = body["businessObjectFormatVersion"]
    return DataKey(definition, usage, file_type, version, partition, subs)


def of_path(parts: Mapping[str, str]) -> DataKey:
    """The key that a path gives.  Raises Problem."""
    subs = [
        parts[name] for name in (f"sub{place}" for place in range(1, SUB_PARTITIONS + 1)) if name in parts
    ]
    key = of_body(
        {
            **_of_format(parts),
            "businessObjectFormatVersion": _number(parts["format_version"], "format"),
            "partitionValue": parts["partition"],
            "subPartitionValues": subs,
        }
    )
    return replace(key, version=_number(parts["version"], "data"))


def of_query(parts: Mapping[str, str], request: HttpRequest) -> DataKey:
    """The key that a path gives with its query; without a version of the data the latest is meant."""
    query = request.GET
    version = query.get("businessObjectDataVersion")
    key = of_body(
        {
            **_of_format(parts),
            "businessObjectFormatVersion": _number(query.get("businessObjectFormatVersion", ""), "format"),
            "partitionValue": query.get("partitionValue"),
            "subPartitionValues": [
                value for value in query.get("subPartitionValues", "").split("|") if value
            ],
        }
    )
    return replace(key, version=_number(version, "data") if version else None)


def _of_format(parts: Mapping[str, str]) -> dict[str, str]:
    return dict(zip(FIELDS, (parts["definition"], parts["usage"], parts["file_type"]), strict=True))


def _number(text: str, what: str) -> int:
    try:
        return Whole().from_text(text)
    except BadBody:
        problem = f"A business object {what} version must be specified as a whole number."
        raise Problem(400, problem) from None


def status(code: str | None) -> str:
    """The status of that code, in any case of its letters.  Raises Problem."""
    name = (code or "").strip().upper()
    if not name:
        raise Problem(400, "A business object data status must be specified.")
    if name not in STATUSES:
        raise Problem(404, f'Business object data status "{(code or "").strip()}" doesn\'t exist.')
    return name


def versions(namespace: Node, key: DataKey) -> dict[int, int]:
    """The versions that there are of these data, each with the number of its object."""
    rows = below(namespace, "business_object_data").filter(name__istartswith=f"{key.series}/")
    last = ((name.rpartition("/"), number) for name, number in rows.values_list("name", "securable"))
    return {
        int(version): number for (series, _, version), number in last if series.upper() == key.series.upper()
    }
