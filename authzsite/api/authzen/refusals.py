"""What goes with a no: what is lacking, who could give it, a sentence, and where to ask.

An object that neither the subject nor the asker may know of reads like one that does not exist: the lacks are
those of any new object of that name, and its owner is the owner of the nearest place they do know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from authzsite.api.authzen.question_names import Case
from authzsite.api.authzen.questions import Question
from catalog.nodes import Node
from lakewarden.law import dialects, evidence
from lakewarden.law.engine import decide
from lakewarden.law.explain import missing
from lakewarden.law.facts import Key, Lineage, Slice
from lakewarden.law.objects import ObjectRef
from lakewarden.law.patterns import parts_of
from policies.decisions.lookups import resolve_path
from policies.record import access_log

Link = Callable[[Question], str]
LONGEST_SHOWN = 200


@dataclass(frozen=True)
class Refusal:
    """A question that was answered no; `seen` counts the places along the name that may be spoken of.

    It is `unadmitted` where no realm of that name, if there is one, admits the service account that asks.
    What the law allows is refused where something on the way is `switched_off`.
    """

    case: Case
    slice: Slice | None
    seen: int
    revision: int
    inside: Sequence[Lineage] | None = None
    unadmitted: bool = False
    switched_off: ObjectRef | None = None

    @property
    def whole(self) -> bool:
        """Whether the very object may be spoken of."""
        return self.case.node is not None and self.seen == len(self.case.places)


@dataclass(frozen=True)
class Lack:
    """One thing that is lacking; `owned_through` are places, realm first, whose owner could give it.

    `text` names the entity where the law is about texts.
    """

    kind: str
    privilege: str = ""
    ref: ObjectRef | None = None
    owned_through: tuple[int, ...] = ()
    text: str = ""


def contexts(refusals: Sequence[Refusal], link: Link, *, now: datetime) -> Iterator[dict[str, Any]]:
    """What is told with each refusal, in their order.  One query."""
    lacks = [_lacks(refusal, now.timestamp()) for refusal in refusals]
    owners = _owners({key for each in lacks for lack in each for key in lack.owned_through})
    for refusal, lacking in zip(refusals, lacks, strict=True):
        missing = [_wire(lack, owners) for lack in lacking]
        subject, action, resource = refusal.case.question
        parts = [
            _WORDS.get(lack.kind, lack.kind).format(privilege=lack.privilege, object=_short(str(lack.ref)))
            for lack in lacking
        ]
        who, what, where = _short(subject.id), _short(action.name), _short(f"{resource.type} {resource.id}")
        sentence = f"{who} may not {what} {where}: {', '.join(parts)}."
        yield {
            "reason_user": sentence,
            "missing": missing,
            "revision": refusal.revision,
            "request_url": link(refusal.case.question),
        }


def record(refusals: Sequence[Refusal], looks: Iterable[access_log.AccessLookup | None], *, via: str) -> None:
    """Put refusals of known people into the log, and who looked at whose access."""
    refused = [
        access_log.Refusal(case.subject, case.operation, existing(case), case.ref.id)
        for case in (refusal.case for refusal in refusals)
        if case.operation and case.ref and case.subject and case.subject.pk
    ]
    looked = [look for look in looks if look]
    if refused:
        access_log.refused_all(refused, via=via)
    if looked:
        access_log.looked_all(looked, via=via)


def _lacks(refusal: Refusal, now: float) -> list[Lack]:
    case = refusal.case
    if case.ref is None:
        return [Lack("object")]
    if case.subject is None:
        return [Lack("subject")]
    if refusal.switched_off:
        return [Lack("switched_off", ref=refusal.switched_off)]
    if refusal.unadmitted:
        return [Lack("realm")]
    if refusal.slice is None or not refusal.seen:
        unheard = resolve_path.unheard(case.ref)
        root = unheard and ObjectRef(unheard[0].root_type, case.ref.realm)
        return [Lack("membership", ref=root) if root else Lack("object")]
    if case.operation is None:
        return [Lack("action", ref=case.ref)]
    slice_ = refusal.slice
    ref = case.ref
    lineage, names = way(refusal, ref)
    if not refusal.whole and _would_be_seen(slice_, lineage, now):
        return [Lack("object", ref=ref)]
    also, inside = refusal.case.also, refusal.inside
    lacks = missing(slice_, case.operation, lineage, now=now, also=also, inside=inside)
    if not lacks:
        decision = decide(slice_, case.operation, lineage, now=now, also=also, inside=inside)
        return [Lack(decision.reason, ref=ref)]
    return list(_named(lacks, lineage, names))


def way(refusal: Refusal, ref: ObjectRef) -> tuple[Lineage, dict[Key, ObjectRef]]:
    """The lineage of the object, or of one that would bear its name below what may be spoken of."""
    return resolve_path.way(ref, refusal.case.node, refusal.case.places[: refusal.seen])


def existing(case: Case) -> Node | None:
    return case.node if case.node is not None and case.node.exists else None


def _would_be_seen(slice_: Slice, lineage: Lineage, now: float) -> bool:
    operation = dialects.get(slice_.dialect).action(lineage[-1].type, "read")
    return operation is not None and bool(decide(slice_, operation, lineage, now=now))


def _named(
    lacks: Iterable[evidence.Lack], lineage: Lineage, names: Mapping[Key, ObjectRef]
) -> Iterator[Lack]:
    keys = [level.key for level in lineage]
    for lack in lacks:
        depth = keys.index(lack.object) if lack.object in keys else 0
        through = tuple(key for key in keys[: depth + 1] if isinstance(key, int))
        ref, text = names.get(lack.object), lack.name if ":" in lack.name else ""
        if ref is None and text:
            ref = ObjectRef(lack.object_type, next(iter(names.values())).realm, parts_of(text)[1])
        yield Lack(lack.kind, lack.privilege, ref, through, text)


def _owners(keys: set[int]) -> dict[int, str]:
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_OWNERS, [sorted(keys)])
        return {key: f"{kind}:{name}" for key, kind, name in cursor.fetchall()}


# written out, because building a query costs more than asking it
_OWNERS = """
SELECT o.securable_id, p.kind, p.name FROM policies_ownership o JOIN accounts_principal p ON p.id = o.owner_id
 WHERE o.closed IS NULL AND o.securable_id = ANY(%s::bigint[])
"""


def _wire(lack: Lack, owners: Mapping[int, str]) -> dict[str, Any]:
    wire: dict[str, Any] = {"kind": lack.kind}
    if lack.privilege:
        wire["privilege"] = lack.privilege
    if lack.ref:
        wire["object"] = {"type": lack.ref.type, "id": lack.ref.id}
    if lack.text:
        wire["entity"] = lack.text
    owner = next((owners[key] for key in reversed(lack.owned_through) if key in owners), None)
    if owner:
        wire["owner"] = owner
    return wire


_WORDS = {
    "privilege": "{privilege} on {object} is missing",
    "denied": "{privilege} is denied on {object}",
    "ownership": "only an owner of {object} may",
    "membership": "membership in {object} is missing",
    "service_admin": "only a service admin may",
    "mode": "authorization is switched off in {object}",
    "object": "there is no such object, or it may not be seen",
    "subject": "this type of subject is unknown",
    "action": "there is no such action on this type of object",
    "switched_off": "{object} is switched off",
    "realm": "there is no such realm, or it does not admit the calling service account",
    "incomplete": "the operation needs two objects, and only one was given",
}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
