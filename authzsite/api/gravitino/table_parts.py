"""Partitions and statistics of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils import timezone

from authzsite.api.gravitino.bodies import filled, mapping, required, shape, some
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.columns import PARTITION
from authzsite.api.gravitino.errors import exists, illegal, no_such, unsupported
from authzsite.api.gravitino.wire import Wire
from policies.services import object_details

CUSTOM = "custom-"


def _keep(call: Call, what: str, **content: Any) -> None:
    """Replace some of what is said about a table beside its columns."""
    kept = {**call.detail.content, **content}
    if kept != call.detail.content:
        object_details.describe(call.node, what=what, content=kept, **call.by)


# partitions

ADD = shape({"partitions": required(some(PARTITION))})


def _partitions(call: Call) -> dict[str, Wire]:
    partitions: dict[str, Wire] = dict(call.detail.content.get("partitions", {}))
    return partitions


def list_partitions(call: Call) -> Wire:
    partitions = _partitions(call)
    return {"partitions": list(partitions.values())} if call.asks("details") else {"names": list(partitions)}


def get_partition(call: Call) -> Wire:
    return {"partition": _partition(call, _partitions(call))}


def _partition(call: Call, partitions: Mapping[str, Wire]) -> Wire:
    name = call.names["partition"]
    if name not in partitions:
        raise no_such("partition", name)
    return partitions[name]


def add_partitions(call: Call) -> Wire:
    call.refuse_connected()
    partitions, new = _partitions(call), call.body["partitions"]
    if not call.detail.content.get("partitioning"):
        raise unsupported(f"Table {call.node.name} is not partitioned")
    for item in new:
        item |= {"name": item.get("name") or _name_of(item), "properties": item.get("properties", {})}
        if item["name"] in partitions:
            raise exists("partition", f"Partition {item['name']} already exists")
        partitions[item["name"]] = item
    _keep(call, "the partitions", partitions=partitions)
    return {"partitions": new}


def _name_of(partition: Mapping[str, Any]) -> str:
    """`region=eu/day=3`, as engines name a partition by its values."""
    fields = [".".join(field) for field in partition.get("fieldNames", ())]
    values = [str(item.get("value")) for item in partition.get("values", ())]
    return "/".join(f"{field}={value}" for field, value in zip(fields, values, strict=False))


def drop_partition(call: Call) -> Wire:
    call.refuse_connected()
    partitions = _partitions(call)
    dropped = partitions.pop(call.names["partition"], None) is not None
    _keep(call, "the partitions", partitions=partitions)
    return {"dropped": dropped, "deleted": dropped}


# statistics

SET = shape({"updates": required(mapping)})
DROP = shape({"names": required(some(filled))})
SET_OF = shape({"partitionName": required(filled), "statistics": required(mapping)})
SET_PARTS = shape({"updates": required(some(SET_OF))})
DROP_OF = shape({"partitionName": required(filled), "statisticNames": required(some(filled))})
DROP_PARTS = shape({"drops": required(some(DROP_OF))})
Statistics = dict[str, dict[str, Any]]


def weigh(operation: str) -> Callable[[Call], None]:
    def ask(call: Call) -> None:
        place = call.place
        if call.names["type"].lower() != "table":
            raise unsupported("Only tables have statistics here")
        call.decide(operation, place.node)

    return ask


def _checked(name: str) -> str:
    if not name.startswith(CUSTOM):
        raise unsupported(f"Statistic {name} cannot be modified", "UnmodifiableStatisticException")
    if len(name) == len(CUSTOM):
        raise illegal("A statistic needs a name", "IllegalStatisticNameException")
    return name


def _shown(statistics: Statistics) -> list[Wire]:
    return [
        {
            "name": name,
            "value": value["value"],
            "reserved": False,
            "modifiable": True,
            "audit": value["audit"],
        }
        for name, value in sorted(statistics.items())
    ]


def _updated(call: Call, before: Statistics, values: Mapping[str, Any]) -> Statistics:
    audit = {"creator": call.principal.name, "createTime": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    statistics = dict(before)
    for name, value in values.items():
        statistics[_checked(name)] = {"value": value, "audit": statistics.get(name, {}).get("audit", audit)}
    return statistics


def list_statistics(call: Call) -> Wire:
    return {"statistics": _shown(call.detail.content.get("statistics", {}))}


def update_statistics(call: Call) -> Wire:
    statistics = _updated(call, call.detail.content.get("statistics", {}), call.body["updates"])
    _keep(call, "the statistics", statistics=statistics)
    return {}


def drop_statistics(call: Call) -> Wire:
    statistics = dict(call.detail.content.get("statistics", {}))
    dropped = [statistics.pop(_checked(name), None) is not None for name in call.body["names"]]
    _keep(call, "the statistics", statistics=statistics)
    return {"dropped": any(dropped), "deleted": any(dropped)}


def list_partition_statistics(call: Call) -> Wire:
    start, end = call.query.get("from"), call.query.get("to")
    parts = sorted(call.detail.content.get("partition_statistics", {}).items())
    selected = [
        (name, statistics)
        for name, statistics in parts
        if (not start or start <= name) and (not end or name <= end)
    ]
    return {
        "partitionStatistics": [
            {"partitionName": name, "statistics": _shown(statistics)} for name, statistics in selected
        ]
    }


def update_partition_statistics(call: Call) -> Wire:
    statistics = dict(call.detail.content.get("partition_statistics", {}))
    for item in call.body["updates"]:
        name = item["partitionName"]
        statistics[name] = _updated(call, statistics.get(name, {}), item["statistics"])
    _keep(call, "the statistics", partition_statistics=statistics)
    return {}


def drop_partition_statistics(call: Call) -> Wire:
    statistics = {
        name: dict(values) for name, values in call.detail.content.get("partition_statistics", {}).items()
    }
    dropped = False
    for item in call.body["drops"]:
        for name in item["statisticNames"]:
            dropped |= statistics.get(item["partitionName"], {}).pop(_checked(name), None) is not None
    _keep(
        call,
        "the statistics",
        partition_statistics={name: values for name, values in statistics.items() if values},
    )
    return {"dropped": dropped, "deleted": dropped}


TABLE = "metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/tables/{table}"
PARTS, PART = f"{TABLE}/partitions", f"{TABLE}/partitions/{{partition}}"
STATISTICS = "metalakes/{metalake}/objects/{type}/{full_name}/statistics"


def _statistic(method: str, path: str, operation: str, handle: Any, body: Any = None) -> Route:
    operation_name = f"Statistic.{operation}"
    return Route(
        method, path, operation_name, handle, body, weigh=weigh(operation_name), noun="metadata_object"
    )


ROUTES = (
    Route("GET", PARTS, "Partition.listPartitionNames", list_partitions),
    Route("POST", PARTS, "Partition.addPartitions", add_partitions, ADD),
    Route("GET", PART, "Partition.getPartition", get_partition),
    Route("DELETE", PART, "Partition.dropPartition", drop_partition),
    _statistic("GET", STATISTICS, "listStatistics", list_statistics),
    _statistic("PUT", STATISTICS, "updateStatistics", update_statistics, SET),
    _statistic("POST", STATISTICS, "dropStatistics", drop_statistics, DROP),
    _statistic("GET", f"{STATISTICS}/partitions", "listPartitionStatistics", list_partition_statistics),
    _statistic(
        "PUT", f"{STATISTICS}/partitions", "updatePartitionStatistics", update_partition_statistics, SET_PARTS
    ),
    _statistic(
        "POST", f"{STATISTICS}/partitions", "dropPartitionStatistics", drop_partition_statistics, DROP_PARTS
    ),
)
