"""Business object data: which there are, and in which status.  What they hold is kept elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import checks, data_bodies, data_keys
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.data_keys import DataKey
from authzsite.api.herd.problems import Problem, no_namespace
from authzsite.api.herd.runs import LASTING
from catalog.models import Detail
from catalog.nodes import Node
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import data_notifications, object_details, objects
from policies.services.data_notifications import StatusChange
from policies.services.objects import NewObject

TYPE = "business_object_data"


@dataclass(frozen=True)
class StoredData:
    """Data as they were when they were found: whoever answers with them does so after the lock is gone."""

    node: Node
    namespace: Node
    key: DataKey
    """With its version."""
    content: dict[str, Any]
    latest: int
    """The highest version of the same data."""

    def wire(self) -> dict[str, Any]:
        version = self.key.version
        details = {"id": self.node.id, "namespace": self.namespace.name, **self.content, "version": version}
        return {**details, "latestVersion": version == self.latest}

    def key_wire(self) -> dict[str, Any]:
        names = {"namespace": self.namespace.name, **self.key.wire()}
        return {**names, "businessObjectDataVersion": self.key.version}


class DataCall(HerdCall):
    """A call about business object data that are there."""

    def existing(self, office: Office, permission: str, code: str) -> StoredData:
        """The data that are asked for, for callers who have the permission.  Raises Problem."""
        node = office.need(permission, code)
        name, wanted = checks.namespace(code), self._key()
        versions = data_keys.versions(node, wanted) if node else {}
        version = max(versions, default=None) if wanted.version is None else wanted.version
        if node is not None and version in versions:
            data = office.within(node, TYPE, f"{wanted.series}/{version}")
            detail = Detail.objects.filter(pk=data.id).first() if data else None
            if data is not None and detail is not None:
                return StoredData(data, node, replace(wanted, version=version), detail.content, max(versions))
        raise Problem(404, f'Business object data "{wanted.series}" doesn\'t exist for namespace "{name}".')

    def _key(self) -> DataKey:
        """What the path names, with the query where the path does not name a partition."""
        if "partition" in self.kwargs:
            return data_keys.of_path(self.kwargs)
        return data_keys.of_query(self.kwargs, self.request._request)


class DataRegistrations(HerdCall):
    """`POST /businessObjectData`"""

    http_method_names = ["post"]

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            body = self.read(data_bodies.DATA_CREATE)
            node = office.need("WRITE", body["namespace"])
            code, key = checks.namespace(body["namespace"]), data_keys.of_body(body)
            partition_key = checks.named(body["partitionKey"], "A partition key", "Partition key")
            status = data_keys.status(body["status"] or "VALID")
            if node is None:
                raise no_namespace(code)
            versions = data_keys.versions(node, key)
            if versions and not body["createNewVersion"]:
                raise Problem(409, "Unable to create business object data because it already exists.")
            latest = max(versions, default=-1) + 1
            key = replace(key, version=latest)
            content = {**key.wire(), "partitionKey": partition_key, "status": status}
            authority = office.authority("BusinessObjectData.createBusinessObjectData", node)
            new = NewObject(TYPE, f"{key.series}/{key.version}", content=content)
            [data] = objects.register(node, [new], by=office.actor, authority=authority, owner=office.caller)
            made = StoredData(data, node, key, content, latest)
        _tell(made, status)
        return self.respond(data_bodies.DATA, made.wire())


class Data(DataCall):
    """GET and DELETE of business object data, by `/businessObjectData/namespaces/{namespace}/…`"""

    http_method_names = ["get", "delete"]

    def get(self, request: Request, namespace: str, **key: str) -> HttpResponse:
        stored = self.existing(self.looking(), "READ", namespace)
        return self.respond(data_bodies.DATA, stored.wire())

    def delete(self, request: Request, namespace: str, **key: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            stored = self.existing(office, "WRITE", namespace)
            shown = stored.wire()
            authority = office.authority("BusinessObjectData.deleteBusinessObjectData", stored.namespace)
            objects.drop(stored.node, by=office.actor, authority=authority)
        return self.respond(data_bodies.DATA, shown)


class DataStatus(DataCall):
    """GET and PUT of `/businessObjectDataStatus/namespaces/{namespace}/…`"""

    http_method_names = ["get", "put"]

    def get(self, request: Request, namespace: str, **key: str) -> HttpResponse:
        stored = self.existing(self.looking(), "READ", namespace)
        details = {"businessObjectDataKey": stored.key_wire(), "status": stored.content["status"]}
        return self.respond(data_bodies.STATUS, details)

    def put(self, request: Request, namespace: str, **key: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            stored = self.existing(office, "WRITE", namespace)
            status = data_keys.status(self.read(data_bodies.STATUS_UPDATE)["status"])
            before = stored.content
            if status != before["status"]:
                authority = office.authority(
                    "BusinessObjectDataStatus.updateBusinessObjectDataStatus", stored.namespace
                )
                object_details.describe(
                    stored.node,
                    by=office.actor,
                    authority=authority,
                    what=f"status from {before['status']} to {status}",
                    content={**before, "status": status},
                )
        if status != before["status"]:
            _tell(stored, status, before["status"])
        details = {"businessObjectDataKey": stored.key_wire(), "status": status}
        return self.respond(data_bodies.STATUS_UPDATED, {**details, "previousStatus": before["status"]})


def _tell(stored: StoredData, new: str, old: str | None = None) -> None:
    """Start what is registered for it, now that it is written."""
    happened = StatusChange(stored.node, stored.key.format(), new, old)
    data_notifications.start_jobs(happened, lasting=LASTING)
