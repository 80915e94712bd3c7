"""Questions to decisions: many at once, in a number of queries that does not depend on how many."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from accounts.models import Principal
from accounts.tokens import Run
from authzsite.api.authzen.answers import Answer, undecided
from authzsite.api.authzen.question_names import Case, cases, storable
from authzsite.api.authzen.questions import Question
from authzsite.api.authzen.refusals import Link, Refusal, contexts, record
from catalog.nodes import Node
from lakewarden.law import engine
from lakewarden.law.facts import Lineage, Slice
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask as decisions_ask
from policies.decisions import duties, slices, switches
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups import resolve_path
from policies.models import Counter
from policies.record import access_log, inquiries

OF_A_RUN = "a run may ask about the account it runs as, in its realm"
BY_NAME = (Principal.Kind.USER, Principal.Kind.SERVICE)
ABOUT_OTHERS = (
    "you may ask only about yourself; to ask about others you need a service account that the realm "
    "admits, or a duty"
)


def ask(
    asker: Principal,
    questions: Sequence[Question],
    link: Link,
    *,
    now: datetime,
    run: Run | None = None,
    recorded: bool = True,
) -> list[Answer]:
    """The answers in the order asked.  What the asker may not know is not explained to them.

    A `run` asks about itself alone, in its realm alone, and is named in the record with its starter.
    Not `recorded`: a person's own question on a page, by which nothing was refused.
    """
    inquiry = Inquiry(asker, cases(asker, questions), now, run)
    outcomes = [inquiry.outcome(case) for case in inquiry.cases]
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    inquiry.note(via="authzen")
    if recorded:
        via = f"run {run.id} for {run.starter.pseudonym}" if run else "authzen"
        record(refusals, [inquiry.look(case) for case in inquiry.cases], via=via)
    explained = iter(contexts(refusals, link, now=now))
    return [
        Answer(False, next(explained)) if isinstance(outcome, Refusal) else outcome for outcome in outcomes
    ]


class Inquiry:
    """The facts that some questions turn on, read once for all of them."""

    def __init__(self, asker: Principal, cases: list[Case], now: datetime, run: Run | None = None) -> None:
        self.asker, self.named, self.now, self.run = asker, cases, now, run
        self._inside: dict[ObjectRef | None, Sequence[Lineage]] = {}
        self._admits: dict[int, bool] = {}

    @cached_property
    def cases(self) -> list[Case]:
        """The questions as far as the asker may put them.

        A realm that does not admit the service account that asks about others is as if it were not there.
        """
        return [case if self._admitted(case) else case.nowhere() for case in self.named]

    def about_others(self, case: Case) -> bool:
        """Whether a service account asks about somebody else."""
        return self.run is None and self.asker.kind == Principal.Kind.SERVICE and case.subject != self.asker

    def _admitted(self, case: Case) -> bool:
        if not case.places or not self.about_others(case):
            return True
        return self.admits(case.places[0])

    def admits(self, root: Node) -> bool:
        """Whether a realm admits the asker; found out once."""
        if root.realm_id not in self._admits:
            slice_ = self._slices.get((root.realm_id, self.asker.pk))
            if slice_ is None:
                slice_ = slices.current(self.asker, root, now=self.now)
            self._admits[root.realm_id] = inquiries.admits(self.asker, root, slice_)
        return self._admits[root.realm_id]

    def note(self, *, via: str) -> None:
        """Count what a service account asked about others in each realm, or was not to ask."""
        roots = [case.places[0] for case in self.named if case.places and self.about_others(case)]
        for root in dict.fromkeys(roots):
            if self.admits(root):
                inquiries.asked_about_others(self.asker, root, roots.count(root), via=via)
            else:
                access_log.refused(self.asker, inquiries.ASKS, root, via=via)

    def outcome(self, case: Case) -> Answer | Refusal:
        if self.about_others(case) and not case.places:
            return Refusal(case, None, 0, self._counter, unadmitted=True)
        if not self.may_ask(case):
            return undecided(403, OF_A_RUN if self.run else ABOUT_OTHERS)
        slice_ = self.slice_of(case)
        if slice_ is not None and case.node is not None:
            inside = self.inside(case)
            answer = decisions_ask.answer(
                slice_, case.action, case.node, now=self.now, also=case.also, inside=inside
            )
            stopped = switches.blocking(case.node, answer.operation, slice_.revision) if answer else None
            if stopped is not None:
                return Refusal(case, slice_, len(case.places), slice_.revision, switched_off=stopped.ref)
            if answer:
                return Answer(True, {"revision": slice_.revision})
        # how many of the places along the name the subject or the asker may know of
        if slice_ is None:
            seen = 0
        else:
            viewers = (slice_, self._slices[case.places[0].realm_id, self.asker.pk])
            seen = resolve_path.seen(case.places, viewers, now=self.now)
        return Refusal(case, slice_, seen, slice_.revision if slice_ else self._counter, self.inside(case))

    def inside(self, case: Case) -> Sequence[Lineage] | None:
        """Everything in the object, for operations that ask about all of it: two queries an object."""
        if (
            case.node is None
            or not case.operation
            or not decisions_ask.asks_inside(case.node, case.operation)
        ):
            return None
        if case.ref not in self._inside:
            self._inside[case.ref] = [item.levels for item in decisions_ask.inside_of(case.node)]
        return self._inside[case.ref]

    def may_ask(self, case: Case) -> bool:
        """Everybody about themselves; about others service accounts where a realm admits them, because asking
        is what pipelines do, people with the duty to look at the object's history, and site admins; a run
        about itself only."""
        if self.run is not None:
            elsewhere = bool(case.places) and case.places[0].realm_id != self.run.realm
            return case.subject == self.asker and not elsewhere
        if case.subject == self.asker:
            return True
        if self.about_others(case):
            return bool(case.places) and self._admitted(case)
        if is_service_admin(self.asker):
            return True
        return bool(case.places) and not self.watched.isdisjoint(case.places[-1].lineage)

    def look(self, case: Case) -> access_log.AccessLookup | None:
        """What is recorded when a person asks about somebody else; service accounts are counted by `note`."""
        operation = case.operation
        if case.known is None or operation is None or case.subject == self.asker:
            return None
        if self.asker.kind == Principal.Kind.SERVICE or not self.may_ask(case):
            return None
        return access_log.AccessLookup(self.asker, f"why {operation}", case.known)

    @cached_property
    def watched(self) -> frozenset[int]:
        return duties.held(self.asker, "view_history", now=self.now)

    @cached_property
    def _slices(self) -> dict[tuple[int, int], Slice]:
        """Everybody's facts on what is named in every realm: at most two queries a realm."""
        people = {case.subject.pk: case.subject for case in self.named if case.subject and case.subject.pk}
        people[self.asker.pk] = self.asker
        roots = {case.places[0].realm_id: case.places[0] for case in self.named if case.places}
        actions: dict[int, dict[int, set[int]]] = {realm: {} for realm in roots}
        for case in self.named:
            keys = {key for place in case.places for key in place.lineage}
            for pk in {self.asker.pk, case.subject.pk if case.subject else None} if keys else ():
                actions[case.places[0].realm_id].setdefault(pk or 0, set()).update(keys)
        return {
            (realm, pk): slice_
            for realm, root in roots.items()
            for pk, slice_ in slices.currents(
                list(people.values()), root, now=self.now, objects=actions[realm]
            ).items()
        }

    def slice_of(self, case: Case) -> Slice | None:
        if not case.places or case.subject is None:
            return None
        realm = case.places[0].realm_id
        slice_ = self._slices.get((realm, case.subject.pk))
        if slice_ is None and case.subject.kind in BY_NAME:
            slice_ = self._strangers.get((realm, case.subject.name))
        return slice_ or self._without_facts(case.subject, self._slices[realm, self.asker.pk])

    @cached_property
    def _strangers(self) -> dict[tuple[int, str], Slice]:
        """What realms say of people nobody has heard of: one query a realm whose law speaks of names."""
        roots = {case.places[0].realm_id: case.places[0] for case in self.cases if case.places}
        names = {
            case.subject.name
            for case in self.cases
            if case.subject and not case.subject.pk and case.subject.kind in BY_NAME
            if storable(case.subject.name)
        }
        return {
            (realm, name): slice_
            for realm, root in roots.items()
            for name, slice_ in slices.of_strangers(sorted(names), root, now=self.now).items()
        }

    def _without_facts(self, stranger: Principal, beside: Slice) -> Slice:
        return engine.build(
            stranger.ref,
            beside.realm,
            beside.dialect,
            beside.revision,
            (),
            member=False,
            service_admin=is_service_admin(stranger),
            mode=beside.mode,
            now=self.now.timestamp(),
        )

    @cached_property
    def _counter(self) -> int:
        return Counter.objects.get().revision
