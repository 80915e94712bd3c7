"""Job templates and jobs: registered and guarded here, run nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from authzsite.api.gravitino import altering, path_objects
from authzsite.api.gravitino.altering import Draft
from authzsite.api.gravitino.bodies import (
    COMMENT,
    RENAME,
    filled,
    listed,
    one_of,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.bodies import anything as ignored
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import Problem, illegal, no_such, unsupported
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, with_details
from catalog.models import Detail
from catalog.nodes import Node
from policies.decisions.lookups import visible_objects

COMMON: dict[str, Any] = {
    "executable": required(filled),
    "arguments": listed(text),
    "environments": strings,
    "customFields": strings,
}
OWN: dict[str, dict[str, Any]] = {
    "shell": {"scripts": listed(text)},
    "spark": {
        "className": text,
        "jars": listed(text),
        "files": listed(text),
        "archives": listed(text),
        "configs": strings,
    },
}
KEPT = ("jobType", *COMMON, *(name for item in OWN.values() for name in item))


def template(value: Any) -> dict[str, Any]:
    """A template of a shell or a Spark job.  What a client says of its audit is not believed."""
    kind = one_of(*OWN)(value.get("jobType") if isinstance(value, dict) else None)
    fields_read = {
        "jobType": text,
        "name": required(filled),
        "comment": text,
        "audit": ignored,
        **COMMON,
        **OWN[kind],
    }
    body: dict[str, Any] = shape({**fields_read, **COMMON, **OWN[kind]})(value)
    return body | {"jobType": kind}


REGISTER = shape({"jobTemplate": required(template)})
_NEW = {f"new{name[0].upper()}{name[1:]}": name for name in KEPT if name != "jobType"}
_READERS = {name: reader for fields in (COMMON, *OWN.values()) for name, reader in fields.items()}
NEW_TEMPLATE = shape(
    {"@type": required(one_of(*OWN))}
    | {sent: getattr(_READERS[name], "reader", _READERS[name]) for sent, name in _NEW.items()}
)
ALTER = updates({**RENAME, **COMMENT, "updateTemplate": {"newTemplate": required(NEW_TEMPLATE)}})
RUN = shape({"jobTemplateName": required(filled), "jobConf": strings})


def wire(name: str, detail: Detail, audit: Audit) -> Wire:
    content = detail.content
    kept = {key: content[key] for key in KEPT if key in content}
    return {"name": name, "comment": detail.comment, **kept, "audit": audit}


def wire_of(node: Node) -> Wire:
    return {"jobTemplate": wire(node.name, Detail.objects.get(securable=node.id), audit_of(node))}


def listed_(call: Call) -> Wire:
    rows = visible_objects.children(call.slice, call.root, "job_template", now=call.now)
    if call.asks("details"):
        return {"jobTemplates": with_details(rows, wire)}
    return {"names": list(rows.values_list("name", flat=True))}


def register(call: Call) -> Wire:
    call.body = call.body["jobTemplate"]
    content = {key: call.body[key] for key in KEPT if key in call.body}
    altering.make(call, "job_template", content=content)
    return {}


def load(call: Call) -> Wire:
    return {"jobTemplate": wire(call.node.name, call.detail, audit_of(call.node))}


def _update(draft: Draft, update: Mapping[str, Any]) -> None:
    new = update["newTemplate"]
    if new["@type"] != draft.content.get("jobType"):
        raise illegal("A template keeps its kind", "IllegalJobTemplateOperationException")
    draft.content |= {_NEW[sent]: value for sent, value in new.items() if sent in _NEW}


def alter(call: Call) -> Later:
    node, _ = altering.alter(call, call.node, more={"updateTemplate": _update})
    return lambda: wire_of(node)


# jobs


def list_jobs(call: Call) -> Wire:
    wanted = call.query.get("jobTemplateName")
    if wanted and path_objects.place(call.root, ["job_template"], [wanted]).missing:
        raise no_such("job_template", wanted)
    return {"jobs": []}


def weigh_run(call: Call) -> None:
    """Running is asked of the metalake and of the template that the body names."""
    try:
        name = call.read_body()["jobTemplateName"]
    except Problem:
        name = ""
    template_ = path_objects.place(call.root, ["job_template"], [name])
    call.decide("Job.runJob", call.root, also=template_.node.levels)


def run(call: Call) -> Wire:
    name = call.body["jobTemplateName"]
    if path_objects.place(call.root, ["job_template"], [name]).missing:
        raise no_such("job_template", name)
    raise unsupported("No runner of jobs is configured here; templates can be kept and guarded")


def absent_job(call: Call) -> Wire:
    raise no_such("job", call.names["job"])


def credentials(call: Call) -> Wire:
    message = f"No credentials are configured for {call.names['full_name']}"
    raise Problem(404, 1003, "NoSuchCredentialException", message)


LAKE = "metalakes/{metalake}"
ONE, RUNS = LAKE + "/jobs/templates/{job_template}", LAKE + "/jobs/runs"
ROUTES = (
    Route("GET", f"{LAKE}/jobs/templates", "Job.listJobTemplates", listed_),
    Route(
        "POST", f"{LAKE}/jobs/templates", "Job.registerJobTemplate", register, REGISTER, noun="job_template"
    ),
    Route("GET", ONE, "Job.getJobTemplate", load, noun="job_template"),
    Route("PUT", ONE, "Job.alterJobTemplate", alter, ALTER, noun="job_template"),
    Route("DELETE", ONE, "Job.deleteJobTemplate", altering.drop, absent_ok=True, noun="job_template"),
    Route("GET", RUNS, "Job.listJobs", list_jobs),
    Route("POST", RUNS, "Job.runJob", run, RUN, weigh=weigh_run, reads=True),
    Route("GET", f"{RUNS}/{{job}}", "Job.getJob", absent_job),
    Route("POST", f"{RUNS}/{{job}}", "Job.cancelJob", absent_job, reads=True),
    Route(
        "GET",
        LAKE + "/objects/{type}/{full_name}/credentials",
        "MetadataObjectCredential.getCredentials",
        credentials,
        noun="credential",
    ),
)
