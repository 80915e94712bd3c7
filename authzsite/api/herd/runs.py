"""Jobs as Herd calls them: definitions that were started.  They run elsewhere, as who registered them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Token
from accounts.text import holdable
from authzsite.api.herd import bodies, checks
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office, the_herd
from authzsite.api.herd.problems import Problem, no_job, no_namespace
from catalog.nodes import Node, nodes
from policies.events import RUN_STARTED
from policies.models import Change, Event
from policies.services import data_notifications, jobs

LASTING = timedelta(hours=1)
MOST = 1000
"""So many of the last jobs a list looks through."""
TOKEN = "X-Lakewarden-Run-Token"  # noqa: S105 - the name of a header
RUNNING, COMPLETED = "RUNNING", "COMPLETED"


@dataclass(frozen=True)
class StartedJob:
    """One job: of which definition, since when, and whether its token still holds."""

    id: str
    definition: Node
    at: datetime
    until: datetime | None
    about: Mapping[str, str] = field(default_factory=dict)
    """Which notification started it, and of what."""
    within: Mapping[str, int] = field(default_factory=dict)
    """The namespaces of the objects that are named there, by their numbers."""

    @property
    def namespace(self) -> str:
        return self.definition.names[-2]

    @property
    def status(self) -> str:
        return RUNNING if self.until is not None and timezone.now() < self.until else COMPLETED

    def summary(self) -> dict[str, Any]:
        ended = self.status == COMPLETED and self.until
        return {
            "id": self.id,
            "namespace": self.namespace,
            "jobName": self.definition.name,
            "status": self.status,
            "startTime": self.at.isoformat(),
            **({"endTime": ended.isoformat()} if ended else {}),
        }

    def parameters(self) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in self.about.items()]

    def readable(self, office: Office) -> list[dict[str, str]]:
        """Those parameters that name no object of a namespace that the caller may not read."""
        spaces = nodes(self.within.values())
        hidden = {
            name
            for name in data_notifications.OBJECTS
            if not office.may_at("READ", spaces.get(self.within.get(name, 0)))
        }
        return [each for each in self.parameters() if each["name"] not in hidden]


class Jobs(HerdCall):
    """`POST /jobs` and `GET /jobs`"""

    http_method_names = ["get", "post"]

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("request")
        body = self.read(bodies.JOB_START)
        office = Office(the_herd(), self.caller.actor(self._request_id), self.caller.principal)
        # the definition to start, for callers who have EXECUTE on its namespace. Raises Problem.
        namespace = body["namespace"]
        node = office.need("EXECUTE", namespace)
        code, wanted = checks.namespace(namespace), checks.job_name(body["jobName"])
        if node is None:
            raise no_namespace(code)
        job = office.job(node, wanted)
        if job is None:
            raise no_job(wanted, node.name)
        started = jobs.start(job, by=office.actor, lasting=LASTING)
        shown = StartedJob(started.run.id, job, started.expires - LASTING, started.expires).summary()
        answer = self.respond(bodies.JOB_RUN, {**shown, "parameters": body["parameters"] or []})
        answer.headers[TOKEN] = started.token
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def get(self, request: Request) -> HttpResponse:
        office, query = self.looking(), request._request.GET
        summaries = [
            job.summary()
            for job in _readable(office, _last_jobs(office.herd))
            if all(
                not query.get(name) or query[name].strip().upper() == value.upper()
                for name, value in (
                    ("namespace", job.namespace),
                    ("jobName", job.definition.name),
                    ("status", job.status),
                )
            )
        ]
        return self.respond(bodies.JOB_SUMMARIES, {"jobSummaries": summaries})


class Job(HerdCall):
    """GET of `/jobs/ids/{id}` and of `/jobs/{id}`"""

    http_method_names = ["get"]

    def get(self, request: Request, id: str) -> HttpResponse:
        office = self.looking()
        job = _known(office, id)
        office.need("READ", job.namespace)
        return self.respond(bodies.JOB_RUN, {**job.summary(), "parameters": job.readable(office)})


class JobToken(HerdCall):
    """`POST /jobs/ids/{id}/token`: the token of a job that a notification started, for what runs it"""

    http_method_names = ["post"]

    def post(self, request: Request, id: str) -> HttpResponse:
        self.require_scope("request")
        office = Office(the_herd(), self.caller.actor(self._request_id), self.caller.principal)
        job = _known(office, id)
        office.need("EXECUTE", job.namespace)
        if not job.about:
            raise Problem(409, f'Job with ID "{id}" was started by somebody, who has got its token.')
        token = jobs.token_for(job.id, job.definition, by=office.actor)
        answer = self.respond(bodies.JOB_RUN, {**job.summary(), "parameters": job.parameters()})
        answer.headers[TOKEN] = token
        answer.headers["Cache-Control"] = "no-store"
        return answer


def _known(office: Office, id: str) -> StartedJob:
    last_jobs = _last_jobs(office.herd, id) if holdable(id) else []
    if not last_jobs:
        raise Problem(404, f'Job with ID "{id[:100]}" doesn\'t exist.')
    return last_jobs[0]


def _readable(office: Office, started: Iterable[StartedJob]) -> Iterable[StartedJob]:
    """Those in namespaces that the caller may read; the others are simply not there."""
    may: dict[str, bool] = {}
    for job in started:
        if job.namespace not in may:
            node = office.namespace(job.namespace)
            may[job.namespace] = node is not None and office.may("READ", node)
        if may[job.namespace]:
            yield job


def _last_jobs(herd: Node, id: str = "") -> list[StartedJob]:
    """The last jobs, the newest first, or the one of that id; those of definitions that are gone are not."""
    started = Change.objects.filter(kind=RUN_STARTED, realm=herd.realm_id)
    events = Event.objects.filter(kind=RUN_STARTED, change__in=started.values("revision"))
    if id:
        events = events.filter(data__run=id)
    rows = list(events.order_by("-change").values_list("data", "object_key", "change__at")[:MOST])
    ends = _ends(data["run"] for data, _, _ in rows)
    definitions = nodes(key for _, key, _ in rows if key is not None)
    return [
        StartedJob(data["run"], definitions[key], at, ends.get(data["run"]), _about(data), _within(data))
        for data, key, at in rows
        if key in definitions
    ]


def _about(data: Mapping[str, str]) -> dict[str, str]:
    return {name: data[name] for name in data_notifications.ABOUT if name in data}


def _within(data: Mapping[str, Any]) -> dict[str, int]:
    pairs = ((name, data.get(f"{name}{data_notifications.WITHIN}")) for name in data_notifications.OBJECTS)
    return {name: number for name, number in pairs if number is not None}


def _ends(runs: Iterable[str]) -> dict[str, datetime | None]:
    rows = Token.objects.filter(run__in=list(runs), view="").values_list("run", "expires", "revoked")
    return {run: revoked or expires for run, expires, revoked in rows}
