"""What files said when they were applied: kept for each part of a realm that files own, and read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import NotFound
from policies.events import POLICY_APPLIED, POLICY_LET_GO
from policies.models import AppliedFile, Event
from policies.policy_files.document import PolicyFile
from policies.policy_files.statements import Statement
from policies.record import newest_editions
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.pending import ChangeInProgress
from policies.services import realm_of
from policies.simulation.carrying_out import authority_to_make

OWNS = "owns"
"""Where an event tells which parts the file owns."""


@dataclass(frozen=True)
class KeptFile:
    """The last file applied of those that own the same parts, and by which change.

    `file` is None where what is kept of it is not what the console kept.
    """

    owns: tuple[str, ...]
    revision: int
    at: datetime
    file: PolicyFile | None

    @property
    def scope(self) -> str:
        return scope_of(self.owns)


def scope_of(owns: Iterable[str]) -> str:
    """What the files that own the same parts are known by."""
    return hashlib.sha256(json.dumps(sorted(owns)).encode()).hexdigest()


def is_kept(root: Node, file: PolicyFile) -> bool:
    """Whether nothing is to be kept of a file: it owns nothing, or it is the one that was applied last."""
    if not file.owns:
        return True
    row = AppliedFile.objects.filter(realm=root.realm_id, scope=scope_of(file.owns)).first()
    if row is None or not (row.is_sealed and newest_editions.among([row])):
        return False
    return (row.statements, row.registers_objects) == (_kept(file.statements), file.registers_objects)


def keep(current: ChangeInProgress, root: Node, file: PolicyFile) -> None:
    """Keep what a file says, in the change that applied it; its people are all known by then."""
    if not file.owns:
        return
    values = {
        "owns": sorted(file.owns),
        "registers_objects": file.registers_objects,
        "statements": _kept(file.statements),
        "revision": current.revision,
        "at": current.at,
    }
    here = {"realm_id": root.realm_id, "scope": scope_of(file.owns)}
    if AppliedFile._base_manager.filter(**here).update(**values):
        # whoever applies a file answers for it, whatever stood in its place
        newest_editions.answer_for([AppliedFile.objects.get(**here)])
    else:
        AppliedFile(**here, **values).save()


def let_go(root: Node, owns: Sequence[str], *, by: Actor, reason: str = "") -> None:
    """Hold a realm no more against the file that owns these parts, which nobody applies any more.

    Raises Refused, NotFound.
    """
    with change(POLICY_LET_GO, realm=realm_of(root), by=by, reason=reason) as current:
        authority = authority_to_make(root, by)
        if not any(kept.scope == scope_of(owns) for kept in of_realm(root)):
            raise NotFound(gettext("No policy file that owns these parts is compared with the realm."))
        parts = sorted(owns)
        draft = make_event(POLICY_LET_GO, root, owns=parts, parts=", ".join(parts))
        current.say(draft, by=authority)
        AppliedFile.objects.filter(realm=root.realm_id, scope=scope_of(owns)).delete()


def of_realm(root: Node) -> list[KeptFile]:
    """The files of a realm, those applied last first."""
    rows = list(AppliedFile.objects.filter(realm=root.realm_id))
    good = {row.pk for row in newest_editions.among(row for row in rows if row.is_sealed)}
    names = _names_of(row for row in rows if row.pk in good)
    kept = [
        KeptFile(tuple(row.owns), row.revision, row.at, _file(root, row, names) if row.pk in good else None)
        for row in rows
    ]
    kept += _lost(root, {row.scope for row in rows})
    return sorted(kept, key=lambda file: -file.revision)


def _lost(root: Node, there: set[str]) -> Iterator[KeptFile]:
    """Files that were applied, as the live record tells, and of which nothing is kept."""
    kinds = (POLICY_APPLIED, POLICY_LET_GO)
    applied: dict[str, KeptFile] = {}
    events = Event.objects.filter(kind__in=kinds, object_key=root.id, data__has_key=OWNS)
    for event in events.order_by("change").select_related("change"):
        owns = tuple(event.data[OWNS])
        if event.kind == POLICY_LET_GO:
            applied.pop(scope_of(owns), None)
        elif owns:
            applied[scope_of(owns)] = KeptFile(owns, event.change_id, event.change.at, None)
    return (kept for scope, kept in applied.items() if scope not in there)


def _kept(some: Iterable[Statement]) -> list[list[str]]:
    """Statements as they are kept: people by pseudonym."""
    names = {item.who for item in some if item.who}
    plain = {name.partition(":")[2] for name in names}
    pseudonyms = {str(row): row.pseudonym for row in Principal.objects.filter(name__in=plain)}
    return sorted(list(item._replace(who=pseudonyms.get(item.who, ""))) for item in some)


def _names_of(rows: Iterable[AppliedFile]) -> dict[str, str]:
    """The names behind the pseudonyms, but of who was erased."""
    wanted = {Statement(*item).who for row in rows for item in row.statements}
    known = Principal.objects.filter(pseudonym__in=wanted - {""}, erased=False)
    return {row.pseudonym: str(row) for row in known} | {"": ""}


def _file(root: Node, row: AppliedFile, names: dict[str, str]) -> PolicyFile:
    stated = (Statement(*item) for item in row.statements)
    left = frozenset(item._replace(who=names[item.who]) for item in stated if item.who in names)
    return PolicyFile(root.name, root.kind, frozenset(row.owns), row.registers_objects, left, "")
