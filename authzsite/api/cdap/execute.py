"""What CDAP's containers ask: may a holder do this to an entity, and which entities exist for them."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen.batch_decisions import ABOUT_OTHERS, OF_A_RUN, Inquiry
from authzsite.api.authzen.question_names import Case
from authzsite.api.authzen.questions import Action, Entity, Question
from authzsite.api.cdap import bodies
from authzsite.api.cdap.call import VIA, CdapCall
from authzsite.api.cdap.problems import Problem, denied
from authzsite.api.surface import respond
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.cdap.commands import Holder
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.facts import Slice
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.errors import Invalid
from policies.record import access_log
from policies.record.access_log import AccessLookup, Refusal
from policies.services.cdap_instances import known


class Execute(CdapCall):
    """A question; who may ask about whom is as in AuthZEN."""

    authentication_classes = [RunAuthentication, SessionAuthentication]
    http_method_names = ["post"]

    def asked_about(self, holder: Holder, *, now: datetime, entity: Node | None = None) -> Slice:
        """The slice of a holder, for callers who may ask about them.  Raises Problem."""
        subject, caller = self._subject(holder), self.caller
        node = entity or self.root
        question = Question(Entity(subject.kind, subject.name), Action(""), Entity(node.type, node.ref.id))
        named = Case(question, subject, node.ref, (*node.above(), node), node)
        inquiry = Inquiry(caller.principal, [named], now, caller.run)
        [case] = inquiry.cases
        slice_ = inquiry.slice_of(case)
        if slice_ is None or not inquiry.may_ask(case):
            raise Problem(403, OF_A_RUN if caller.run else ABOUT_OTHERS)
        inquiry.note(via=VIA)
        return slice_

    def _subject(self, holder: Holder) -> Principal:
        if holder.kind == "role":
            raise Problem(400, "A role does nothing itself; ask about a user or a group that holds it")
        me = self.caller.principal
        if holder == Holder("group" if me.kind == Principal.Kind.GROUP else "user", me.name):
            return me
        return known(holder) or Principal(kind=holder.kind, name=holder.name)

    @property
    def via(self) -> str:
        run = self.caller.run
        return f"run {run.id} for {run.starter.pseudonym}" if run else VIA

    def place(self, entity: Authorizable) -> Node:
        """Where the entity is or would be.  Raises Problem for what cannot be named here."""
        try:
            return ask.entity_node(self.root, entity)
        except Invalid as problem:
            raise Problem(400, str(problem)) from None


class Enforce(Execute):
    """`POST /v1/execute/enforce`"""

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        question = bodies.read_enforcement(request._request, self.actions)
        now, place = timezone.now(), self.place(question.entity)
        entity_node = find(ObjectRef(question.entity.type, self.root.name, question.entity.parts))
        slice_ = self.asked_about(question.holder, now=now, entity=entity_node)
        lacking = [action for action in question.actions if not ask.answer(slice_, action, place, now=now)]
        subject, name = self._subject(question.holder), f"{self.root.name}/{question.entity}"
        if lacking and subject.pk:
            access_log.refused_all([Refusal(subject, item, None, name) for item in lacking], via=self.via)
        if subject != self.caller.principal and self.caller.principal.kind != Principal.Kind.SERVICE:
            looks = [
                AccessLookup(self.caller.principal, f"why {action}", self.root) for action in question.actions
            ]
            access_log.looked_all(looks, via=self.via)
        if lacking:
            raise Problem(403, str(denied(question.holder, self.policy, lacking, str(question.entity))))
        return self.done()


class IsVisible(Execute):
    """`POST /v1/execute/isVisible`: of the ids that were sent, those that exist for the principal."""

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        question = bodies.read_visibility(request._request)
        now = timezone.now()
        places = [(sent, self.place(entity)) for sent, entity in question.entities]
        slice_ = self.asked_about(question.holder, now=now)
        return respond([sent for sent, place in places if ask.may_see(slice_, place, now=now)])
