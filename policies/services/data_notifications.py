"""Jobs of a Herd that start by themselves: because the status of business object data changed.

A registration says which data, which statuses and which jobs.  It acts for who defined it last: what they
may no longer do is not done, and the log says what was refused to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from accounts.entering import gone
from accounts.models import Principal
from catalog.models import Detail
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import Conflict, Refused
from policies.models import Ownership
from policies.record import access_log
from policies.services import jobs

TYPE = "data_notification"
EVENT, FILTER = "businessObjectDataEventType", "businessObjectDataNotificationFilter"
ACTIONS, STATUS = "jobActions", "notificationRegistrationStatus"
NEW, OLD = "newBusinessObjectDataStatus", "oldBusinessObjectDataStatus"
DATA_NAMESPACE, JOB = "dataNamespace", "job"
"""What is kept of a registration: Herd's own fields, and the numbers of the objects that they mean."""
REGISTERED, CHANGED = "BUS_OBJCT_DATA_RGSTN", "BUS_OBJCT_DATA_STTS_CHG"
ENABLED, DISABLED = "ENABLED", "DISABLED"
ABOUT = ("notification", "data", "status", "correlationData")
"""What the record of a run keeps of the notification that started it."""
OBJECTS, WITHIN = ("notification", "data"), "_in"
"""Which of it names objects; beside each is kept, with this behind its name, the number of its namespace."""
NOBODY = "no account to run as"


@dataclass(frozen=True)
class StatusChange:
    """What happened to business object data; `format` names what a filter may ask for."""

    data: Node
    format: dict[str, Any]
    new: str
    old: str | None = None

    @property
    def events(self) -> tuple[str, ...]:
        """New data have got their first status, so that both kinds of registrations hear of them."""
        return (CHANGED,) if self.old is not None else (REGISTERED, CHANGED)


def start_jobs(happened: StatusChange, *, lasting: timedelta) -> int:
    """Start what is registered for it, each run in a change of its own; answers how many.

    What the registrations have in common is asked once, however many there are.
    """
    namespace = happened.data.lineage[-2]
    rows = Detail.objects.filter(
        **{
            "securable__realm": happened.data.realm_id,
            "securable__type": TYPE,
            "securable__closed__isnull": True,
            f"content__{DATA_NAMESPACE}": namespace,
            f"content__{STATUS}": ENABLED,
        }
    )
    details = [row for row in rows.order_by("securable") if _matches(row.content, happened)]
    if not details:
        return 0
    jobs_asked = (action[JOB] for row in details for action in row.content[ACTIONS])
    by_id = nodes({namespace, *jobs_asked, *(row.securable_id for row in details)})
    owned = Ownership.objects.open().filter(securable__in=[row.securable_id for row in details])
    definers = {row.securable_id: row.owner for row in owned.select_related("owner")}
    starting = _Starting(happened, lasting, by_id, _readers(definers.values(), by_id.get(namespace)))
    return sum(
        starting.start(by_id[row.securable_id], definers[row.securable_id], action)
        for row in details
        if row.securable_id in by_id and row.securable_id in definers
        for action in row.content[ACTIONS]
    )


def _readers(definers: Iterable[Principal], namespace: Node | None) -> frozenset[int]:
    """Those who are still there and may read the data."""
    people = {definer.pk: definer for definer in definers}
    left = people.keys() - gone(list(people))
    return frozenset(pk for pk in left if namespace is not None and ask.ask(people[pk], "read", namespace))


def _matches(content: dict[str, Any], happened: StatusChange) -> bool:
    filter_body = content[FILTER]
    old, new = filter_body.get(OLD), filter_body.get(NEW)
    return (
        content[EVENT] in happened.events
        and (new is None or new == happened.new)
        and (old is None or old == happened.old)
        and all(
            filter_body.get(name) is None or _same(filter_body[name], is_)
            for name, is_ in happened.format.items()
        )
    )


def _same(wanted: object, is_: object) -> bool:
    return str(wanted).upper() == str(is_).upper()


@dataclass(frozen=True)
class _Starting:
    """What one change of status starts; `known` are open objects by number, `readers` may read the data."""

    happened: StatusChange
    lasting: timedelta
    known: Mapping[int, Node]
    readers: frozenset[int]

    def start(self, registration: Node, definer: Principal, action: dict[str, Any]) -> bool:
        """Start one job as the definer of the registration would; False, and said in the log, if not."""
        happened, via = self.happened, f"notification {registration.id}"
        if definer.pk not in self.readers:
            namespace = self.known.get(happened.data.lineage[-2])
            access_log.refused(definer, "READ", namespace, via=via)
            return False
        job = self.known.get(action[JOB])
        if job is None:
            name = f"{registration.realm}/{action['namespace']}.{action['jobName']}"
            access_log.refused(definer, "EXECUTE", None, name=name, via=via)
            return False
        words = (registration.ref.id, happened.data.ref.id, happened.new, action.get("correlationData"))
        about: dict[str, Any] = {
            name: word for name, word in zip(ABOUT, words, strict=True) if word is not None
        }
        for name, node in zip(OBJECTS, (registration, happened.data), strict=True):
            about[f"{name}{WITHIN}"] = node.lineage[-2]
        try:
            jobs.start(job, by=Actor(definer, "notification"), lasting=self.lasting, **about)
        except Refused:
            access_log.refused(definer, "EXECUTE", job, via=via)
            return False
        except Conflict:
            access_log.refused(definer, NOBODY, job, via=via)
            return False
        return True
