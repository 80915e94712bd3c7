"""What is said of a row beforehand: where it is, how far it reaches, who uses it, what we suggest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Count
from django.utils import timezone

from accounts.entering import able
from accounts.models import Membership, Principal
from catalog.nodes import Node
from catalog.past import nodes_at
from lakewarden.law import dialects
from lakewarden.record import chain
from policies.decisions.lookups import peers
from policies.models import Change, Grant, Review, ReviewRow, Use
from policies.reviews import advice, conflicts
from policies.reviews.row_sources import RowDraft

Kind = ReviewRow.Kind
MANY = 100
"""So many objects below are many."""
WRITING = "(write|alter|insert|update|delete|modify|create|drop)"
"""How jobs call what is more than reading."""
FAR = ("write", "many", "denial", "conflict")
"""The risks by which a row reaches far."""
OPENS = ("write", "create", "manage")
"""Categories of privileges that let one do more than read."""
ENDS_SOON = timedelta(days=30)

_USED = """
WITH asked AS (
    SELECT * FROM jsonb_to_recordset(%(asked)s::jsonb) AS a(number int, holder bigint, objects bigint[])),
person AS (
    SELECT a.number, a.holder AS id, a.objects FROM asked a
    UNION
    SELECT a.number, m.member_id, a.objects FROM asked a
      JOIN accounts_membership m ON m.group_id = a.holder AND m.closed IS NULL),
used AS (
    SELECT u.principal_id, u.securable_id, max(u.at) AS at,
           max(u.at) FILTER (WHERE u.action ~* %(writing)s) AS wrote
      FROM policies_use u WHERE u.executed AND u.realm_id = %(realm)s
       AND u.principal_id IN (SELECT id FROM person) GROUP BY 1, 2)
SELECT p.number, max(u.at), max(u.wrote) FROM person p JOIN used u ON u.principal_id = p.id
  JOIN catalog_placement l ON l.securable_id = u.securable_id AND l.closed IS NULL
   AND (l.securable_id = ANY(p.objects) OR l.ancestors && p.objects)
 GROUP BY p.number
"""


@dataclass(frozen=True)
class LastUse:
    """When it was last used, and last for more than reading; None for never, as far as is told."""

    at: datetime | None = None
    wrote: datetime | None = None


class Enricher:
    """Says of one batch of drafts after the other what is to be said, in a fixed number of queries each."""

    def __init__(self, review: Review, root: Node) -> None:
        self.review, self.root, self.now = review, root, timezone.now()
        self.law = dialects.get(root.kind)
        self._below: dict[int, int] = {}

    def rows(self, drafts: Sequence[RowDraft], first: int) -> list[ReviewRow]:
        """The drafts as rows of the review, numbered on from `first`."""
        return _Batch(self, drafts).rows(first)

    @cached_property
    def told(self) -> bool:
        """Whether jobs of this realm tell at all what they use."""
        return Use.objects.filter(realm=self.review.realm_id, executed=True).exists()

    @cached_property
    def denied(self) -> frozenset[int]:
        """The objects on which something is denied to somebody: who may there is an exception."""
        rows = Grant.objects.as_of(self.review.revision).filter(
            effect="deny", securable__realm=self.review.realm_id
        )
        return frozenset(rows.values_list("securable", flat=True).distinct()[:100_000])

    @cached_property
    def sides(self) -> frozenset[conflicts.Place]:
        """What parts the duties of somebody, as the rules of the realm have it now."""
        return conflicts.sides(self.root, self.now)

    def below(self, keys: set[int]) -> Mapping[int, int]:
        """How many objects there are below each container.  One query for those not asked before."""
        new = sorted(keys - self._below.keys())
        if new:
            if len(self._below) > 10_000:
                self._below.clear()
            statement = """
                SELECT k, (SELECT count(*) FROM catalog_placement p
                            WHERE p.closed IS NULL AND p.type <> 'role' AND p.ancestors @> ARRAY[k])
                  FROM unnest(%s::bigint[]) AS k"""
            with connection.cursor() as cursor:
                cursor.execute(statement, [new])
                self._below |= dict(cursor.fetchall())
        return self._below


class _Batch:
    """What is known about the drafts of one batch, each kind of it in one query."""

    def __init__(self, weigher: Enricher, drafts: Sequence[RowDraft]) -> None:
        self.weigher, self.drafts, self.review = weigher, drafts, weigher.review
        self.law, self.now = weigher.law, weigher.now

    def rows(self, first: int) -> list[ReviewRow]:
        return [self._row(draft, at, first + at) for at, draft in enumerate(self.drafts)]

    # what the drafts are about

    @cached_property
    def places(self) -> Mapping[int, Node]:
        keys = {draft.securable for draft in self.drafts} | {draft.role for draft in self.drafts}
        keys |= {item[0] for draft in self.drafts for item in draft.gives}
        return nodes_at({key for key in keys if key}, self.review.revision)

    @cached_property
    def holders(self) -> Mapping[int, Principal]:
        keys = {draft.holder for draft in self.drafts} | {draft.group for draft in self.drafts}
        return Principal.objects.in_bulk([key for key in keys if key])

    @cached_property
    def entering(self) -> frozenset[int]:
        return able(self.holders.keys(), now=self.now)

    @cached_property
    def sizes(self) -> Mapping[int, int]:
        groups = [pk for pk, holder in self.holders.items() if holder.kind == Principal.Kind.GROUP]
        rows = Membership.objects.as_of(self.review.revision).filter(group__in=groups)
        counted = rows.values("group").annotate(many=Count("member", distinct=True))
        return dict.fromkeys(groups, 0) | {row["group"]: row["many"] for row in counted}

    def objects_of(self, draft: RowDraft) -> list[int]:
        """The numbers of what the draft gives something on."""
        given = [item[0] for item in draft.gives if item[0]]
        return [draft.securable] if draft.securable else given

    @cached_property
    def below(self) -> Mapping[int, int]:
        keys = {key for draft in self.drafts for key in self.objects_of(draft)}
        inner = {key for key in keys if (node := self.places.get(key)) and self.law.child_types(node.type)}
        return self.weigher.below(inner)

    # what was done with it

    @cached_property
    def used(self) -> Mapping[int, LastUse]:
        questions = [
            {"number": at, "holder": draft.holder, "objects": objects}
            for at, draft in enumerate(self.drafts)
            if draft.holder and (objects := self.objects_of(draft))
        ]
        if not questions or not self.weigher.told:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                _USED, {"asked": json.dumps(questions), "realm": self.review.realm_id, "writing": WRITING}
            )
            return {number: LastUse(at, wrote) for number, at, wrote in cursor.fetchall()}

    @cached_property
    def shares(self) -> Mapping[int, peers.Share]:
        questions = [(at, question) for at in range(len(self.drafts)) if (question := self._question(at))]
        shares = peers.shares([question for _, question in questions], self.review.realm_id, now=self.now)
        return {at: shares[place] for place, (at, _) in enumerate(questions)}

    def _question(self, at: int) -> peers.Question | None:
        draft = self.drafts[at]
        holder = self.holders.get(draft.holder or 0)
        if holder is None or holder.kind == Principal.Kind.GROUP or draft.effect == "deny":
            return None
        node = self.places.get(next(iter(self.objects_of(draft)), 0))
        privileges = draft.privileges or [code for item in draft.gives[:1] for code in item[2]]
        text = draft.pattern or next((item[1] for item in draft.gives), "")
        if (node is None and not text) or not privileges:
            return None
        return peers.Question(holder.pk, node.lineage if node else (), privileges, text)

    @cached_property
    def before(self) -> Mapping[str, tuple[str, list[str]]]:
        """What the review before held under the same keys."""
        if self.review.previous_id is None:
            return {}
        rows = ReviewRow.objects.filter(review=self.review.previous_id, key__in=list(map(_key, self.drafts)))
        return {
            key: (content, codes) for key, content, codes in rows.values_list("key", "content", "privileges")
        }

    # the row

    def _row(self, draft: RowDraft, at: int, number: int) -> ReviewRow:
        risks = self._risks(draft, at)
        used, share = self.used.get(at, LastUse()), self.shares.get(at, peers.Share(0, 0))
        row = ReviewRow(
            review=self.review,
            number=number,
            kind=draft.kind,
            key=_key(draft),
            content=_content(draft),
            holder_id=draft.holder,
            group_id=draft.group,
            role_id=draft.role,
            pattern=draft.pattern,
            privileges=draft.privileges,
            effect=draft.effect,
            facts=draft.facts,
            since=draft.since,
            valid_from=draft.valid_from,
            valid_until=draft.valid_until,
            outside=draft.outside,
            people=self.sizes.get(draft.holder or 0, 1 if draft.holder else 0),
            objects_below=sum(self.below.get(key, 1) for key in self.objects_of(draft)),
            risks=sorted(risks),
            far=not risks.isdisjoint(FAR),
            last_used=used.at,
            uses_told=self.weigher.told,
            peers_have=share.have,
            peers_of=share.of,
            change=self._change(draft),
        )
        self._place(row, draft)
        advised = advice.of(row, self._known(draft, used))
        row.advice, row.ground, row.advised = advised.choice, advised.ground, list(advised.takes)
        row.rank = _rank(row)
        return row

    def _place(self, row: ReviewRow, draft: RowDraft) -> None:
        """Where it is: the object, of a role the first of what it gives, and its name."""
        role = self.places.get(draft.role or 0)
        row.role_name = role.name if role else ""
        row.gives = [self._given(*item) for item in draft.gives]
        key = draft.securable or next((item[0] for item in draft.gives if item[0]), None)
        node = self.places.get(key or 0)
        row.securable_id = key if node else None
        row.lineage = list(node.lineage) if node else [self.weigher.root.id]
        row.type = node.type if node else (row.pattern.partition(":")[0] or "role")
        row.what = _named(node) if node else (draft.pattern or draft.outside.get("place") or row.role_name)
        row.place = row.what[:200]

    def _given(self, key: int | None, text: str, privileges: list[str], effect: str) -> list[Any]:
        node = self.places.get(key or 0)
        return [key, _named(node) if node else text, privileges, effect]

    def _risks(self, draft: RowDraft, at: int) -> set[str]:
        codes = {*draft.privileges, *(code for item in draft.gives for code in item[2])}
        opens = {privilege.category for code in codes if (privilege := self.law.privilege(code))}
        objects = self.objects_of(draft)
        lineages = {key for object_ in objects if (node := self.places.get(object_)) for key in node.lineage}
        denies = draft.effect == "deny" or any(item[3] == "deny" for item in draft.gives)
        holder = self.holders.get(draft.holder or 0)
        risks = {
            "write": not opens.isdisjoint(OPENS) or draft.kind == Kind.OWNER,
            "denial": denies or not lineages.isdisjoint(self.weigher.denied),
            "many": sum(self.below.get(key, 1) for key in objects) >= MANY or draft.given >= MANY,
            "unused": self.weigher.told and bool(objects) and bool(holder) and at not in self.used,
            "ending": draft.valid_until is not None and draft.valid_until - self.now < ENDS_SOON,
            "foreign": draft.kind == Kind.FOREIGN,
            "conflict": conflicts.place_of(draft) in self.weigher.sides,
            "closed": holder is not None and holder.kind != "pattern" and holder.pk not in self.entering,
        }
        return {name for name, yes in risks.items() if yes}

    def _change(self, draft: RowDraft) -> str:
        if self.review.previous_id is None:
            return ""
        before = self.before.get(_key(draft))
        if before is None:
            return "new"
        content, codes = before
        if content == _content(draft):
            return "same"
        more, less = set(draft.privileges) - set(codes), set(codes) - set(draft.privileges)
        return "more" if more and not less else "less" if less and not more else "other"

    def _known(self, draft: RowDraft, used: LastUse) -> advice.RowFacts:
        codes = [code for code in draft.privileges if self._opens(code)]
        reading = any(
            privilege.category == "read"
            for code in draft.privileges
            if (privilege := self.law.privilege(code))
        )
        return advice.RowFacts(
            self.now, self.moments.get(draft.since or 0), used.wrote, tuple(codes), reading
        )

    def _opens(self, code: str) -> bool:
        privilege = self.law.privilege(code)
        return privilege is not None and privilege.category in OPENS

    @cached_property
    def moments(self) -> Mapping[int, datetime]:
        """When what the drafts are about was given."""

        wanted = {draft.since for draft in self.drafts if draft.since}
        return dict(Change.objects.filter(revision__in=wanted).values_list("revision", "at"))


def _named(node: Node) -> str:
    return node.ref.full_name or node.name


def _rank(row: ReviewRow) -> int:
    if row.change in ("new", "more", "other"):
        return ReviewRow.Rank.CHANGED
    if row.far:
        return ReviewRow.Rank.FAR
    return ReviewRow.Rank.UNUSED if "unused" in row.risks else ReviewRow.Rank.OTHER


def _key(draft: RowDraft) -> str:
    """The same for the same access in any review."""
    outside = [draft.outside.get(name) for name in ("backend", "holder", "grantor", "place")]
    body = {
        "kind": draft.kind,
        "who": [draft.holder, draft.group, draft.role],
        "what": [draft.securable, draft.pattern, draft.effect, *(outside if draft.outside else ())],
    }
    return hashlib.sha256(chain.canonical(body).encode()).hexdigest()


def _content(draft: RowDraft) -> str:
    """Differs when what it gives does."""
    until = draft.valid_until.isoformat() if draft.valid_until else None
    body = {"privileges": draft.privileges, "until": until, "gives": draft.gives}
    return hashlib.sha256(chain.canonical(body).encode()).hexdigest()


__all__ = ["MANY", "Enricher"]
