"""Who may search for what, and what is found: by the same decisions as for single questions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from accounts.models import Principal
from accounts.tokens import Run
from authzsite.api.authzen.batch_decisions import ABOUT_OTHERS, BY_NAME, OF_A_RUN, Inquiry
from authzsite.api.authzen.paging import Page
from authzsite.api.authzen.question_names import cases, storable
from authzsite.api.authzen.questions import Question
from authzsite.api.surface import Forbidden
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies.decisions import slices
from policies.decisions.lookups import searches
from policies.decisions.lookups.searches import SearchSlice
from policies.decisions.lookups.visible_objects import realms_of
from policies.record import access_log, inquiries

Result = dict[str, Any]


class Found(NamedTuple):
    """Results as they are sent, and the number to go on after."""

    results: list[Result]
    next: int | None = None


class Search:
    """One search of a caller: the question with the part that is looked for left empty."""

    def __init__(self, asker: Principal, question: Question, *, now: datetime, run: Run | None = None):
        self.asker, self.question, self.now = asker, question, now
        self.inquiry = Inquiry(asker, cases(asker, [question]), now, run)
        [self.case] = self.inquiry.cases

    def subjects(self, page: Page) -> Found:
        """Who may do it.  Raises Forbidden."""
        self._permit()
        case, kind = self.case, self.question.subject.type
        if case.node is None or kind not in (*BY_NAME, Principal.Kind.GROUP):
            return Found([])
        if case.known is not None:
            self._record("who", case.known)
        results = searches.subjects(
            case.node, case.action, kind, after=page.after, limit=page.limit, now=self.now
        )
        return Found([{"type": item.kind, "id": item.name} for item in results.found], results.next)

    def actions(self, page: Page) -> Found:
        """What the subject may do to the resource.  Raises Forbidden."""
        self._permit()
        slice_ = self.inquiry.slice_of(self.case)
        if slice_ is None or self.case.node is None:
            return Found([])
        if self.case.known is not None:
            self._record("what", self.case.known)
        every = (searches.actions, searches.operations)
        names = [name for kind in every for name in kind(slice_, self.case.node, now=self.now)][page.after :]
        more = page.after + page.limit if len(names) > page.limit else None
        return Found([{"name": name} for name in names[: page.limit]], more)

    def resources(self, page: Page) -> Found:
        """What the subject may do it to.  Raises Forbidden.

        A person with the duty to look at the history of some objects is shown those and what is below.
        """
        whole = self.inquiry.may_ask(self.case) or self.inquiry.about_others(self.case)
        within = None if whole else self.inquiry.watched
        if within is not None and (not within or self.inquiry.run is not None):
            self._permit()
        reaches = self._reaches()
        for reach in reaches:
            self._record("where", reach.root)
        results = searches.objects(
            reaches,
            self.question.resource.type,
            after=page.after,
            limit=page.limit,
            now=self.now,
            within=within,
        )
        return Found([{"type": node.type, "id": node.ref.id} for node in results.found], results.next)

    def _permit(self) -> None:
        if self.inquiry.about_others(self.case):
            return  # a realm that does not admit the asker holds nothing to be found
        if not self.inquiry.may_ask(self.case):
            raise Forbidden(OF_A_RUN if self.inquiry.run else ABOUT_OTHERS)

    def _record(self, what: str, node: Node) -> None:
        """What is found out about others is recorded; of service accounts it is counted for each realm."""
        if self.inquiry.about_others(self.case):
            inquiries.asked_about_others(self.asker, (*node.above(), node)[0], via="authzen")
        elif self.case.subject != self.asker:
            access_log.looked(self.asker, f"{what} {self.question.action.name}".strip(), node, via="authzen")

    def _reaches(self) -> list[SearchSlice]:
        """What the subject holds in each realm whose law knows the type and the action."""
        subject, run = self.case.subject, self.inquiry.run
        if subject is None:
            return []
        reach_slices = []
        for root in realms_of(subject):
            action = self._action(root)
            if action is None or (run is not None and root.realm_id != run.realm):
                continue
            if self.inquiry.about_others(self.case) and not self.inquiry.admits(root):
                continue
            slice_ = self._slice(subject, root)
            if slice_ is not None:
                reach_slices.append(SearchSlice(root, slice_, action))
        return reach_slices

    def _action(self, root: Node) -> str | None:
        """The action, or the part of it that properties pick out, when the realm's law knows it."""
        _, action, resource = self.question
        law = dialects.get(root.kind)
        sent = {"action": action.properties, "resource": resource.properties}
        name = law.narrowed(resource.type, action.name, sent)
        return name if law.action(resource.type, name) else None

    def _slice(self, subject: Principal, root: Node) -> Slice | None:
        if subject.pk:
            return slices.current(subject, root, now=self.now)
        if subject.kind not in BY_NAME or not storable(subject.name):
            return None
        return slices.of_strangers([subject.name], root, now=self.now).get(subject.name)
