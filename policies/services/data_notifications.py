"""Jobs of a Herd that start by themselves: because the status of business object data changed.

A registration says which data, which statuses and which jobs.  It acts for who defined it last: what they
may no longer do is not done, and the log says what was refused to them.
"""

from __future__ import annotations

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

REGISTERED, CHANGED = "BUS_OBJCT_DATA_RGSTN", "BUS_OBJCT_DATA_STTS_CHG"
ENABLED, DISABLED = "ENABLED", "DISABLED"
ABOUT = ("notification", "data", "status", "correlationData")
"""What the record of a run keeps of the notification that started it."""
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
    """Start what is registered for it, each run in a change of its own; answers how many."""
    namespace = happened.data.lineage[-2]
    rows = Detail.objects.filter(
        securable__realm=happened.data.realm_id,
        securable__type="data_notification",
        securable__closed__isnull=True,
        content__dataNamespace=namespace,
        content__notificationRegistrationStatus=ENABLED,
    )
    registered = (row for row in rows.order_by("securable") if _matches(row.content, happened))
    details = list(registered)
    registrations = nodes(row.securable_id for row in details)
    owned = Ownership.objects.open().filter(securable__in=registrations).select_related("owner")
    definers = {row.securable_id: row.owner for row in owned}
    return sum(
        _start(happened, registrations[row.securable_id], definers[row.securable_id], action, lasting)
        for row in details
        if row.securable_id in registrations and row.securable_id in definers
        for action in row.content["jobActions"]
    )


def _matches(content: dict[str, Any], happened: StatusChange) -> bool:
    asked = content["businessObjectDataNotificationFilter"]
    old, new = asked.get("oldBusinessObjectDataStatus"), asked.get("newBusinessObjectDataStatus")
    return (
        content["businessObjectDataEventType"] in happened.events
        and (new is None or new == happened.new)
        and (old is None or old == happened.old)
        and all(asked.get(name) is None or _same(asked[name], is_) for name, is_ in happened.format.items())
    )


def _same(asked: object, is_: object) -> bool:
    return str(asked).upper() == str(is_).upper()


def _start(
    happened: StatusChange, registration: Node, definer: Principal, action: dict[str, Any], lasting: timedelta
) -> bool:
    """Start one job as the definer of the registration would; False, and said in the log, if they may not."""
    via = f"notification {registration.id}"
    job = nodes([action["job"]]).get(action["job"])
    namespace = nodes([happened.data.lineage[-2]])[happened.data.lineage[-2]]
    if definer.pk in gone([definer.pk]) or not ask.ask(definer, "read", namespace):
        access_log.refused(definer, "READ", namespace, via=via)
        return False
    if job is None:
        name = f"{registration.realm}/{action['namespace']}.{action['jobName']}"
        access_log.refused(definer, "EXECUTE", None, name=name, via=via)
        return False
    words = (registration.ref.id, happened.data.ref.id, happened.new, action.get("correlationData"))
    about = {name: word for name, word in zip(ABOUT, words, strict=True) if word is not None}
    try:
        jobs.start(job, by=Actor(definer, "notification"), lasting=lasting, **about)
    except Refused:
        access_log.refused(definer, "EXECUTE", job, via=via)
        return False
    except Conflict:
        access_log.refused(definer, NOBODY, job, via=via)
        return False
    return True
