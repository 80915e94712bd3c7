"""Notification registrations: which jobs start when the status of which business object data changes.

Who defines one needs what the page of 2016 says: EXECUTE where the jobs are, READ where the data are; and
WRITE or EXECUTE where the registration itself is, so that nobody leaves things where they may do nothing.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import checks, data_bodies, data_keys
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Need, Office
from authzsite.api.herd.problems import Problem, no_job, no_namespace, no_notification, notification_exists
from catalog.models import Detail
from catalog.nodes import Node, last, nodes
from catalog.queries import below
from lakewarden.law.dialects.herd.operations import WRITE_OR_EXECUTE, variant_of
from policies.authority import Authority
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import object_details, objects, owners
from policies.services.data_notifications import (
    ACTIONS,
    CHANGED,
    DATA_NAMESPACE,
    DISABLED,
    ENABLED,
    EVENT,
    FILTER,
    JOB,
    NEW,
    OLD,
    REGISTERED,
    STATUS,
    TYPE,
)
from policies.services.objects import NewObject

KEY = "businessObjectDataNotificationRegistrationKey"
_SHOWN = ("namespace", "jobName", "correlationData")
DEFINING = variant_of("notification_registration.post_put_statusput", "EXECUTE")


def _wire(registration: Node, stored: dict[str, Any]) -> dict[str, Any]:
    actions = [{name: action[name] for name in _SHOWN if name in action} for action in stored[ACTIONS]]
    defined = {EVENT: stored[EVENT], FILTER: stored[FILTER], ACTIONS: actions, STATUS: stored[STATUS]}
    return {"id": registration.id, KEY: _key(registration), **defined}


def _key(registration: Node) -> dict[str, str]:
    return {"namespace": registration.names[-2], "notificationName": registration.name}


def _needs(office: Office, body: dict[str, Any]) -> list[Need]:
    """What defining it needs: READ where its data are, EXECUTE where each of its jobs is."""
    jobs = [office.needed("EXECUTE", action["namespace"]) for action in body[ACTIONS] or ()]
    return [office.needed("READ", (body[FILTER] or {}).get("namespace")), *jobs]


def _needs_of(content: dict[str, Any]) -> list[Need]:
    """The same for what is defined already: where these very data and jobs are, whatever they are called now.

    Of a job that is gone it is where it was.
    """
    job_nodes = nodes(action[JOB] for action in content[ACTIONS])
    jobs = [job_nodes.get(action[JOB]) or last(action[JOB]) for action in content[ACTIONS]]
    spaces = nodes({content[DATA_NAMESPACE], *(job.lineage[-2] for job in jobs if job)})
    needs = [("READ", content[DATA_NAMESPACE], content[FILTER]["namespace"])]
    for job, action in zip(jobs, content[ACTIONS], strict=True):
        needs.append(("EXECUTE", job.lineage[-2] if job else None, action["namespace"]))
    return [_need_at(permission, spaces.get(key), name) for permission, key, name in needs]


def _need_at(permission: str, space: Node | None, name: str) -> Need:
    return Need(permission, space.name if space else name, space)


def _notification_name(value: str | None) -> str:
    return checks.named(value, "A notification name", "Notification name")


class Notifications(HerdCall):
    """POST, and GET by what they listen to, of `/…/businessObjectDataNotificationRegistrations`"""

    http_method_names = ["get", "post"]

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            made, content = _create(office, self.read(data_bodies.NOTIFICATION_CREATE))
        return self.respond(data_bodies.NOTIFICATION, _wire(made, content))

    def get(self, request: Request) -> HttpResponse:
        office, query = self.looking(), request._request.GET
        node = office.need("READ", query.get("businessObjectDefinitionNamespace"))
        code = checks.namespace(query.get("businessObjectDefinitionNamespace"))
        definition = _definition(query.get("businessObjectDefinitionName"))
        if node is None:
            raise no_namespace(code)
        wanted = {
            "businessObjectDefinitionName": definition,
            **{
                name: query[name]
                for name in ("businessObjectFormatUsage", "businessObjectFormatFileType")
                if query.get(name)
            },
        }
        return self.respond(data_bodies.NOTIFICATION_KEYS, {f"{KEY}s": _listening_to(office, node, wanted)})


def _listening_to(office: Office, data: Node, wanted: dict[str, str]) -> list[dict[str, str]]:
    """The keys of those that listen to such data, where the caller may read them."""
    rows = Detail.objects.filter(
        securable__realm=office.herd.realm_id,
        securable__type=TYPE,
        securable__closed__isnull=True,
        **{f"content__{DATA_NAMESPACE}": data.id},
    )
    matching = nodes(
        row.securable_id
        for row in rows
        if all(
            (row.content[FILTER].get(name) or value).upper() == value.strip().upper()
            for name, value in wanted.items()
        )
    )
    spaces = nodes({item.lineage[-2] for item in matching.values()})
    may = {number for number, space in spaces.items() if office.may("READ", space)}
    keys = [_key(item) for item in matching.values() if item.lineage[-2] in may]
    return sorted(keys, key=lambda key: (key["namespace"], key["notificationName"]))


def _create(office: Office, body: dict[str, Any]) -> tuple[Node, dict[str, Any]]:
    key = body[KEY] or {"namespace": None, "notificationName": None}
    office.need_each([office.needed(WRITE_OR_EXECUTE, key["namespace"]), *_needs(office, body)])
    if body[KEY] is None:
        raise Problem(400, "A business object data notification registration key must be specified.")
    code, name = checks.namespace(key["namespace"]), _notification_name(key["notificationName"])
    content = _content(office, body)
    node = office.namespace(code)
    if node is None:
        raise no_namespace(code)
    if office.within(node, TYPE, name):
        raise notification_exists(name, node.name)
    authority = _authority(office, content)
    new = NewObject(TYPE, name, content=content)
    [made] = objects.register(node, [new], by=office.actor, authority=authority, owner=office.caller)
    return made, content


def _authority(office: Office, content: dict[str, Any]) -> Authority:
    """The right to define it: to execute each of its jobs."""
    spaces = nodes({node.lineage[-2] for node in nodes(action[JOB] for action in content[ACTIONS]).values()})
    authorities = [office.authority(DEFINING, space) for space in spaces.values()]
    if not authorities:
        raise Problem(400, "No job of the notification is there any more.")
    return authorities[0]


def _content(office: Office, body: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a definition: its words, and the numbers of what they mean now.  Raises Problem."""
    event = (body[EVENT] or "").strip().upper()
    if not event:
        raise Problem(400, "A business object data event type must be specified.")
    if event not in (REGISTERED, CHANGED):
        raise Problem(404, f'Notification event type with code "{event}" doesn\'t exist.')
    data, listened = _filter(office, body[FILTER], event)
    if not body[ACTIONS]:
        raise Problem(400, "At least one notification action must be specified.")
    actions = [_action(office, action) for action in body[ACTIONS]]
    if len({action[JOB] for action in actions}) < len(actions):
        raise Problem(400, "A job action must not be specified twice.")
    return {
        EVENT: event,
        FILTER: listened,
        DATA_NAMESPACE: data.id,
        ACTIONS: actions,
        STATUS: _status(body[STATUS] or ENABLED),
    }


def _filter(office: Office, filter_body: dict[str, Any] | None, event: str) -> tuple[Node, dict[str, Any]]:
    if filter_body is None:
        raise Problem(400, "A business object data notification filter must be specified.")
    code, definition = (
        checks.namespace(filter_body["namespace"]),
        _definition(filter_body["businessObjectDefinitionName"]),
    )
    old, new = (
        data_keys.status(filter_body[name]) if (filter_body[name] or "").strip() else None
        for name in (OLD, NEW)
    )
    if event == REGISTERED and old:
        raise Problem(400, "The old business object data status cannot be specified with that event type.")
    if old and old == new:
        raise Problem(
            400, "The new business object data status is the same as the old business object data status."
        )
    if (filter_body["storageName"] or "").strip():
        raise Problem(404, f'Storage with name "{filter_body["storageName"].strip()}" doesn\'t exist.')
    node = office.namespace(code)
    if node is None:
        raise no_namespace(code)
    formats = {
        name: checks.named(filter_body[name], *words)
        for name, words in data_keys.FIELDS.items()
        if (filter_body[name] or "").strip()
    }
    version = filter_body["businessObjectFormatVersion"]
    listened = {
        "namespace": node.name,
        "businessObjectDefinitionName": definition,
        **formats,
        "businessObjectFormatVersion": version,
        NEW: new,
        OLD: old,
    }
    return node, {name: value for name, value in listened.items() if value is not None}


def _action(office: Office, action_body: dict[str, Any]) -> dict[str, Any]:
    code, name = checks.namespace(action_body["namespace"]), checks.job_name(action_body["jobName"])
    node = office.namespace(code)
    job = office.job(node, name) if node else None
    if node is None or job is None:
        raise no_job(name, node.name if node else code)
    kept = {"namespace": node.name, "jobName": job.name, JOB: job.id}
    data = action_body["correlationData"]
    if data is None:
        return kept
    checks.check_keepable(data, "Correlation data have")
    return {**kept, "correlationData": data}


def _definition(value: str | None) -> str:
    return checks.named(value, *data_keys.FIELDS["businessObjectDefinitionName"])


def _status(code: str) -> str:
    status = code.strip().upper()
    if not status:
        raise Problem(400, "A notification registration status must be specified.")
    if status not in (ENABLED, DISABLED):
        raise Problem(404, f'The notification registration status "{code.strip()}" doesn\'t exist.')
    return status


class Notification(HerdCall):
    """GET, PUT and DELETE of `/…/namespaces/{namespace}/notificationNames/{notificationName}`"""

    http_method_names = ["get", "put", "delete"]

    def get(self, request: Request, namespace: str, name: str) -> HttpResponse:
        office = self.looking()
        registration, content = _existing(office, [office.needed("READ", namespace)], namespace, name)
        return self.respond(data_bodies.NOTIFICATION, _wire(registration, content))

    def put(self, request: Request, namespace: str, name: str) -> HttpResponse:
        """Define it anew; from now on it acts for the caller."""
        with self.changing(OBJECT_ALTERED) as office:
            body = self.read(data_bodies.NOTIFICATION_UPDATE)
            needs = [office.needed(WRITE_OR_EXECUTE, namespace), *_needs(office, body)]
            registration, before = _existing(office, needs, namespace, name)
            office.need_each(_needs_of(before))
            content = _content(office, body)
            authority = _authority(office, content)
            object_details.describe(
                registration, by=office.actor, authority=authority, what="notification", content=content
            )
            owners.set_owner(registration, office.caller, by=office.actor, authority=authority)
        return self.respond(data_bodies.NOTIFICATION, _wire(registration, content))

    def delete(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            registration, content = _existing(office, [office.needed("WRITE", namespace)], namespace, name)
            space = nodes([registration.lineage[-2]])[registration.lineage[-2]]
            operation = (
                "BusinessObjectDataNotificationRegistration.deleteBusinessObjectDataNotificationRegistration"
            )
            authority = office.authority(operation, space)
            objects.drop(registration, by=office.actor, authority=authority)
        return self.respond(data_bodies.NOTIFICATION, _wire(registration, content))


def _existing(office: Office, needs: list[Need], namespace: str, name: str) -> tuple[Node, dict[str, Any]]:
    """The registration and what is kept of it, for callers who have what is needed.  Raises Problem."""
    office.need_each(needs)
    code, wanted = checks.namespace(namespace), _notification_name(name)
    node = office.namespace(code)
    registration = office.within(node, TYPE, wanted) if node else None
    detail = Detail.objects.filter(pk=registration.id).first() if registration else None
    if registration is None or detail is None:
        raise no_notification(wanted, node.name if node else code)
    return registration, detail.content


class NotificationKeys(HerdCall):
    """`GET /…/businessObjectDataNotificationRegistrations/namespaces/{namespace}`"""

    http_method_names = ["get"]

    def get(self, request: Request, namespace: str) -> HttpResponse:
        node = self.looking().need("READ", namespace)
        code = checks.namespace(namespace)
        if node is None:
            raise no_namespace(code)
        names = sorted(below(node, TYPE).values_list("name", flat=True))
        keys = [{"namespace": node.name, "notificationName": name} for name in names]
        return self.respond(data_bodies.NOTIFICATION_KEYS, {f"{KEY}s": keys})


class NotificationStatus(HerdCall):
    """`PUT /notificationRegistrationStatus/namespaces/{namespace}/notificationNames/{notificationName}`"""

    http_method_names = ["put"]

    def put(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            needs = [office.needed(WRITE_OR_EXECUTE, namespace)]
            registration, content = _existing(office, needs, namespace, name)
            office.need_each(_needs_of(content))
            status = _status(self.read(data_bodies.NOTIFICATION_STATUS)[STATUS] or "")
            object_details.describe(
                registration,
                by=office.actor,
                authority=_authority(office, content),
                what=f"status {status}",
                content={**content, STATUS: status},
            )
        details = {"notificationRegistrationKey": _key(registration), STATUS: status}
        return self.respond(data_bodies.NOTIFICATION_STATUS_CHANGED, details)
