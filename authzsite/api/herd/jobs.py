"""Job definitions: registered by an account, as which they run.  Nothing is ever run here."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import bodies, checks
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.problems import job_exists, no_job, no_namespace
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below
from policies.events import OBJECT_ALTERED, OBJECT_REGISTERED
from policies.models import Ownership
from policies.services import object_details, objects, owners
from policies.services.objects import NewObject


def _described(body: dict[str, Any]) -> dict[str, Any]:
    parameters = [(checks.job_name(item["name"]), item["value"]) for item in body["parameters"] or ()]
    checks.check_keepable([body["description"], *(value for _, value in parameters)], "A description has")
    return {
        "description": body["description"],
        "activitiJobXml": checks.workflow(body["activitiJobXml"]),
        "parameters": [{"name": name, "value": value} for name, value in parameters],
    }


def wire(job: Node) -> dict[str, Any]:
    detail = Detail.objects.filter(securable=job.id).first()
    owned = Ownership.objects.open().filter(securable=job.id).select_related("owner").first()
    body: dict[str, Any] = {"description": None, "activitiJobXml": "", "parameters": []}
    return {
        "id": job.id,
        "namespace": job.names[-2],
        "jobName": job.name,
        **body,
        **(detail.content if detail else {}),
        "lastUpdatedByUserId": owned.owner.name if owned else None,
    }


class JobDefinitions(HerdCall):
    """`POST /jobDefinitions`"""

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            body = self.read(bodies.JOB_CREATE)
            node = office.need("WRITE", body["namespace"])
            code, name, content = (
                checks.namespace(body["namespace"]),
                checks.job_name(body["jobName"]),
                _described(body),
            )
            if node is None:
                raise no_namespace(code)
            if office.job(node, name):
                raise job_exists(name, node.name)
            authority = office.authority("JobDefinition.createJobDefinition", node)
            new = NewObject("job_definition", name, content=content)
            [made] = objects.register(node, [new], by=office.actor, authority=authority, owner=office.caller)
        return self.respond(bodies.JOB, wire(made))


class JobDefinition(HerdCall):
    """GET and PUT of `/jobDefinitions/namespaces/{namespace}/jobNames/{jobName}`"""

    def get(self, request: Request, namespace: str, name: str) -> HttpResponse:
        return self.respond(bodies.JOB, wire(_existing(self.looking(), "READ", namespace, name)))

    def put(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            job = _existing(office, "WRITE", namespace, name)
            content = _described(self.read(bodies.JOB_UPDATE))
            authority = office.authority("JobDefinition.updateJobDefinition", job)
            object_details.describe(
                job, by=office.actor, authority=authority, what="workflow", content=content
            )
            # it runs as its registrant, who did not write what it says now
            owners.set_owner(job, office.caller, by=office.actor, authority=authority)
        return self.respond(bodies.JOB, wire(job))


def _existing(office: Office, permission: str, namespace: str, name: str) -> Node:
    node = office.need(permission, namespace)
    code, wanted = checks.namespace(namespace), checks.job_name(name)
    job = office.job(node, wanted) if node else None
    if job is None:
        raise no_job(wanted, node.name if node else code)
    return job


class JobDefinitionKeys(HerdCall):
    """`GET /jobDefinitions/namespaces/{namespace}`"""

    def get(self, request: Request, namespace: str) -> HttpResponse:
        node = self.looking().need("READ", namespace)
        code = checks.namespace(namespace)
        if node is None:
            raise no_namespace(code)
        names = sorted(below(node, "job_definition").values_list("name", flat=True))
        keys = [{"namespace": node.name, "jobName": name} for name in names]
        return self.respond(bodies.JOB_KEYS, {"jobDefinitionKeys": keys})
