"""Storage policies: which data are to be moved where.  They are kept and guarded; nothing is moved here.

Whose rights count is on the namespace of the policy, as the code says, and on that of its data, as the page
says.  A policy that names no namespace is about the data of all, and takes the role OPS besides.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import checks
from authzsite.api.herd.business_objects import shapes
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.data_keys import FIELDS
from authzsite.api.herd.problems import Problem, no_namespace
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import object_details, objects
from policies.services.objects import NewObject

TYPE = "storage_policy"
RULES = ("DAYS_SINCE_BDATA_REGISTERED", "DAYS_SINCE_BDATA_PRIMARY_PARTITION_VALUE")
TRANSITIONS = ("GLACIER",)
STATUSES = ("ENABLED", "DISABLED")


def content_of(body: dict[str, Any]) -> dict[str, Any]:
    """What a body says of a policy.  Raises Problem."""
    parts = ("storagePolicyRule", "storagePolicyFilter", "storagePolicyTransition")
    for part in parts:
        if body[part] is None:
            raise Problem(400, f"A {part} must be specified.")
    rule, filter_, transition = (dict(body[part]) for part in parts)
    if rule["ruleValue"] is None:
        raise Problem(400, "Storage policy rule value must be specified.")
    rule["ruleType"] = _one_of(rule["ruleType"], "storage policy rule type", RULES)
    kind = _one_of(transition["transitionType"], "storage policy transition type", TRANSITIONS)
    storage = checks.named(filter_["storageName"], "A storage name", "Storage name")
    given = [name for name in FIELDS if (filter_[name] or "").strip()]
    names = {name: checks.named(filter_[name], *FIELDS[name]) for name in given}
    code = checks.namespace(filter_["namespace"]) if (filter_["namespace"] or "").strip() else ""
    policy = {
        "storagePolicyRule": rule,
        "storagePolicyFilter": {
            **({"namespace": code} if code else {}),
            **names,
            "storageName": storage,
            "doNotTransitionLatestValid": bool(filter_["doNotTransitionLatestValid"]),
        },
        "storagePolicyTransition": {"transitionType": kind},
        "status": _one_of(body["status"] or "ENABLED", "storage policy status", STATUSES),
    }
    checks.check_keepable(policy, "A storage policy has")
    return policy


def _one_of(value: str | None, what: str, names: tuple[str, ...]) -> str:
    name = (value or "").strip().upper()
    if not name:
        raise Problem(400, f"A {what} must be specified.")
    if name not in names:
        raise Problem(404, f'{what.capitalize()} "{(value or "").strip()}" doesn\'t exist.')
    return name


def filter_namespace(content: dict[str, Any]) -> str:
    """The namespace of the data; empty for those of all."""
    about = content.get("storagePolicyFilter") or {}
    return str(about.get("namespace") or "").strip()


def need_on_data(office: Office, permission: str, code: str) -> None:
    """What it takes on the data that a policy is about.  Raises Denied."""
    if code:
        office.need(permission, code)
    else:
        office.authority("storage_policy", office.herd)


def wire(policy: Node) -> dict[str, Any]:
    key = {"namespace": policy.names[-2], "storagePolicyName": policy.name}
    return {"id": policy.id, "storagePolicyKey": key, **Detail.objects.get(pk=policy.id).content}


class PolicyCall(HerdCall):
    """A call about a policy that is there."""

    def existing(self, office: Office, permission: str) -> tuple[Node, Node]:
        """The policy and its namespace, for callers who have the permission on both.  Raises Problem."""
        code, wanted = self.kwargs["namespace"], self.kwargs["name"]
        namespace = office.need(permission, code)
        name = checks.named(wanted, "A storage policy name", "Storage policy name")
        policy = office.within(namespace, TYPE, name) if namespace else None
        if namespace is None or policy is None:
            where = checks.namespace(code)
            raise Problem(404, f'Storage policy with name "{name}" does not exist for "{where}" namespace.')
        need_on_data(office, permission, filter_namespace(Detail.objects.get(pk=policy.id).content))
        return policy, namespace


class StoragePolicies(HerdCall):
    """`POST /storagePolicies`"""

    http_method_names = ["post"]

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            body = self.read(shapes.POLICY_CREATE)
            key = body["storagePolicyKey"] or {}
            namespace = office.need("WRITE", key.get("namespace"))
            need_on_data(office, "WRITE", filter_namespace(body))
            code = checks.namespace(key.get("namespace"))
            name = checks.named(key.get("storagePolicyName"), "A storage policy name", "Storage policy name")
            content = content_of(body)
            if namespace is None:
                raise no_namespace(code)
            _known_data(office, content)
            if office.within(namespace, TYPE, name):
                raise Problem(
                    409,
                    f'Unable to create storage policy with name "{name}" because it already exists for '
                    f'namespace "{namespace.name}".',
                )
            authority = office.authority("StoragePolicy.createStoragePolicy", namespace)
            new = NewObject(TYPE, name, content=content)
            [made] = objects.register(
                namespace, [new], by=office.actor, authority=authority, owner=office.caller
            )
        return self.respond(shapes.POLICY, wire(made))


def _known_data(office: Office, content: dict[str, Any]) -> None:
    code = filter_namespace(content)
    if code and office.namespace(code) is None:
        raise no_namespace(code)


class StoragePolicy(PolicyCall):
    """GET, PUT and DELETE of `/storagePolicies/namespaces/{namespace}/storagePolicyNames/{name}`"""

    http_method_names = ["get", "put", "delete"]

    def get(self, request: Request, namespace: str, name: str) -> HttpResponse:
        policy, _ = self.existing(self.looking(), "READ")
        return self.respond(shapes.POLICY, wire(policy))

    def put(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            policy, place = self.existing(office, "WRITE")
            body = self.read(shapes.POLICY_UPDATE)
            need_on_data(office, "WRITE", filter_namespace(body))
            content = content_of(body)
            _known_data(office, content)
            authority = office.authority("StoragePolicy.updateStoragePolicy", place)
            object_details.describe(
                policy, by=office.actor, authority=authority, what="storage policy", content=content
            )
        return self.respond(shapes.POLICY, wire(policy))

    def delete(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            policy, place = self.existing(office, "WRITE")
            shown = wire(policy)
            authority = office.authority("StoragePolicy.deleteStoragePolicy", place)
            objects.drop(policy, by=office.actor, authority=authority)
        return self.respond(shapes.POLICY, shown)


class StoragePolicyKeys(HerdCall):
    """`GET /storagePolicies/namespaces/{namespace}`"""

    http_method_names = ["get"]

    def get(self, request: Request, namespace: str) -> HttpResponse:
        node = self.looking().need("READ", namespace)
        if node is None:
            raise no_namespace(checks.namespace(namespace))
        names = sorted(below(node, TYPE).values_list("name", flat=True))
        keys = [{"namespace": node.name, "storagePolicyName": name} for name in names]
        return self.respond(shapes.POLICY_KEYS, {"storagePolicyKeies": keys})
