"""Why: a principal, an action, an object; the decision as a tree, and what to do about a no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import ngettext, pgettext_lazy

from accounts.models import Principal
from authzsite.console.history import timeline
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Case, DecisionTree, Empty, Reason, Verdict
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, unknown_words
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects import hidden_object
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.requests.links import ask, may_ask_for
from authzsite.console.search.palette import Sought
from authzsite.console.why.comparison import Comparing
from authzsite.console.why.explanation import Words, group_labels, rules_in, verdict_text
from authzsite.console.why.named_objects import visible_objects
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Explanation
from policies.decisions import ask as decisions_ask
from policies.decisions import duties, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import admitted, owners_along, realms_of
from policies.record import access_log
from policies.services.grants import revision_now

USUAL = (
    ("read", noop("Read")),
    ("write", noop("Write")),
    ("use", noop("Use")),
    ("grant", noop("Manage grants")),
)
VERBS = {
    "read": pgettext_lazy("to do", "read"),
    "write": pgettext_lazy("to do", "write"),
    "use": pgettext_lazy("to do", "use"),
    "grant": pgettext_lazy("to do", "grant access to"),
    "set_owner": pgettext_lazy("to do", "set the owner of"),
    "alter": pgettext_lazy("to do", "alter"),
    "drop": pgettext_lazy("to do", "drop"),
}
WAYS = 3
LIKE = 5
"""So many objects are offered for a part of a name."""


@dataclass
class Question:
    """What the address asks, looked up step by step; what is not found is a problem beside its field."""

    asker: Principal
    who: str = ""
    action: str = ""
    what: str = ""
    type: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def realms(self) -> list[Node]:
        return realms_of(self.asker)

    @cached_property
    def places(self) -> list[Node]:
        """The objects of that name that the asker may see, whatever their kind."""
        return visible_objects(self.asker, self.what, self.type, realms=self.realms)

    @property
    def full(self) -> str:
        """The name with its realm, where there is but one that can be meant."""
        realm_names = [realm.name for realm in self.realms]
        return (
            f"{realm_names[0]}/{self.what}" if len(realm_names) == 1 and "/" not in self.what else self.what
        )

    @cached_property
    def circle(self) -> VisiblePrincipals:
        return VisiblePrincipals(self.asker)

    @cached_property
    def named(self) -> list[Principal]:
        """Those that the name can mean, in any case, by first name too."""
        return self.circle.meant(self.who)

    @property
    def person(self) -> Principal | None:
        if not self.who:
            return self.asker
        return self.named[0] if len(self.named) == 1 else None

    def may_ask(self, place: ObjectAccess) -> bool:
        """About the viewer always; about others where they may know of them."""
        return self.person == self.asker or self.may_know_others(place)

    def may_know_others(self, place: ObjectAccess) -> bool:
        """Whether the viewer may know what others have here: who grants, reads the history, runs the site."""
        if is_service_admin(self.asker) or place.may_grant:
            return True
        return duties.has(self.asker, "view_history", place.node)

    def answered(self) -> tuple[ObjectAccess, Principal] | None:
        """The object and the person asked about, or None with the problems named."""
        if len(self.places) != 1:
            if not self.places:
                self.problems["what"] = _("No object with that name is visible to you.")
            return None
        node = self.places[0]
        place = ObjectAccess(self.asker, node, slices.current(self.asker, node), timezone.now())
        if not self.may_ask(place):
            self.problems["who"] = _(
                "You may ask about yourself; about others, where you may grant access or read the history."
            )
            return None
        if self.person is None:
            self.problems["who"] = unknown_words(self.who, self.named)
            return None
        return place, self.person


@reads
@login_required
def why_page(request: Request) -> HttpResponse:
    """The question, and its answer when there is one."""
    asker = asker_of(request)
    question = Question(
        asker,
        who=request.GET.get("who", "").strip()[:300],
        action=request.GET.get("action", "").strip()[:64] or "read",
        what=request.GET.get("what", "").strip()[:1500],
        type=request.GET.get("type", "")[:24],
    )
    explanation = question.answered() if question.what else None
    if "what" in request.GET and not question.what:
        question.problems["what"] = _("Enter an object, or a part of its name.")
    answer = _answer(question, *explanation, request) if explanation else _unanswered(question, request)
    actions = _known(explanation[0].node.type) if explanation else [(code, _(word)) for code, word in USUAL]
    node = explanation[0].node if explanation else None
    context = {
        "heading": _("Why"),
        "lead": _("Who can do what, and why. Pipelines and backends get the same answer."),
        "asked": question,
        "who": _who_words(question),
        "problems": question.problems,
        "actions_known": actions,
        "people": _people(question),
        **answer,
    }
    realm = node.realm if node else question.realms[0].name if len(question.realms) == 1 else ""
    revision = explanation[0].slice.revision if explanation else revision_now()
    return page(request, "console/why/why.html", context, section="why", realm=realm, revision=revision)


def _who_words(question: Question) -> str:
    """The person as the field shows them: a user by the bare name."""
    person = question.person
    if person is None:
        return question.who
    return person.name if person.kind == "user" else str(person)


def _people(question: Question) -> list[tuple[str, str]]:
    """Names to choose from, for those who may look people up."""
    if not question.circle.gives_access:
        return [(str(question.asker), question.asker.label)]
    rows = {row.pk: row for realm in question.realms for row in admitted(realm)[:50]}
    return [(str(row), row.label) for row in rows.values()]


def _unanswered(question: Question, request: Request) -> dict[str, Any]:
    """About the viewer there is an answer even where nothing may be seen; it names what programs get."""
    if question.what and not question.places and question.person == question.asker:
        context = hidden_object.answer(question.asker, question.action, question.full, question.type, request)
        if context:
            question.problems.pop("what", None)
            return context
    return _open(question)


def _open(question: Question) -> dict[str, Any]:
    if len(question.places) > 1 and question.what:
        choices = [
            {"label": terms.kind_of(node.type), "url": _url(question, node)} for node in question.places
        ]
        return {"choices": choices, "choices_words": _("Several objects have this name. Which one:")}
    if question.problems:
        like = _like(question)
        return {
            "empty": Empty(
                _("No answer yet"),
                _("Nothing was decided, because the question is not complete."),
                drawn=False,
                level=2,
            ),
            "choices": [{"label": node.ref.full_name, "url": _url(question, node)} for node in like],
            "choices_words": _("Similar names:"),
        }
    return {
        "empty": Empty(
            _("Ask about a person, an action and an object"),
            _("The answer lists the facts behind the access, or what is missing and who can grant it."),
            level=2,
        )
    }


def _like(question: Question) -> list[Node]:
    """What else the viewer may see by a part of the name that was asked."""
    if not question.what or question.places:
        return []
    return [node for node, _after in Sought(question.circle, question.what.rpartition("/")[2]).objects(LIKE)]


def _url(question: Question, node: Node) -> str:
    return "?" + urlencode(
        {"who": question.who, "action": question.action, "what": node.ref.id, "type": node.type}
    )


def _known(type_: str) -> list[tuple[str, str]]:
    """What can be asked about a kind of object, each thing once."""
    law, seen, actions = dialects.get("gravitino"), set(), []
    for name in law.actions_for(type_):
        operation = law.action(type_, name)
        if operation not in seen:
            seen.add(operation)
            actions.append((name, terms.action(name, type_)))
    return actions


def verb(action: str, node: Node) -> str:
    """read; give access to; create tables in; an operation by its own name."""
    if action == "read" and node.type in terms.CONTAINERS:
        return str(VERBS["use"])
    if action in VERBS:
        return str(VERBS[action])
    if action.startswith("create_"):
        return _("%(action)s in") % {"action": terms.lower(terms.action(action, node.type))}
    return action if "." not in action else _("do %(action)s on") % {"action": action}


def _answer(question: Question, place: ObjectAccess, person: Principal, request: Request) -> dict[str, Any]:
    node = place.node
    answer = decisions_ask.ask(person, question.action, node)
    explanation = answer.explained()
    if person != place.asker:
        access_log.looked(place.asker, f"why {answer.operation}", node, via="console")
    speak = Words(
        person,
        node,
        owners_along(node),
        group_labels(rules_in(explanation)),
        timeline.moments_of({rule.opened for rule in rules_in(explanation) if rule.opened}),
    )
    name = node.ref.full_name or node.name
    mark = "yes" if answer else "deny" if answer.decision.reason == "denied" else "no"
    revision, moment = words.number(answer.decision.revision), words.moment(place.now, within=True)
    when = _("Answered at revision %(revision)s, %(moment)s.") % {"revision": revision, "moment": moment}
    values = {"person": person.label, "verb": verb(question.action, node), "name": name}
    heading = (
        _("%(person)s can %(verb)s %(name)s") % values
        if answer
        else _("%(person)s cannot %(verb)s %(name)s") % values
    )
    tree = speak.tree(
        explanation, f"{terms.action(question.action, node.type)} {terms.type_of(node.type)} {node.name}"
    )
    beside = _yes(explanation, speak) if answer else _no(explanation, speak, place, request, question.action)
    if not answer and question.may_know_others(place):
        beside["comparable"] = True
        if "with" in request.GET:
            access_log.looked(place.asker, f"why {answer.operation}", node, via="console")
            comparing = Comparing(place, question.circle, answer, speak)
            beside["comparison"] = comparing.compared_with(request.GET["with"].strip()[:300])
    return {
        "verdict": Verdict(mark, heading, f"{verdict_text(explanation, speak)} {when}"),
        "tree": DecisionTree(tree),
        **beside,
    }


def _yes(explanation: Explanation, speak: Words) -> dict[str, Any]:
    facts = speak.rests_on(explanation.because)
    many = len(facts.moments)
    past = reverse("console:history") + "?" + urlencode({"person": str(speak.person)})
    return {
        "beside_heading": ngettext("It depends on %(many)s fact", "It depends on %(many)s facts", many)
        % {"many": words.number(many)},
        "beside_text": _("If one of these ends, this path ends with it. %(label)s may have other paths.")
        % {"label": speak.person.label},
        "rests_on": facts,
        "actions_beside": [Action(_("Their history"), past, "plain")],
    }


def _no(
    explanation: Explanation, speak: Words, place: ObjectAccess, request: Request, action: str
) -> dict[str, Any]:
    ways = [explanation.missing, *_others(explanation)][:WAYS] if explanation.missing else []
    cases = [_case(at, way, speak, place, request, action) for at, way in enumerate(ways)]
    denied = any(lack.kind == "denied" for lack in explanation.missing)
    cases = [*cases[:1], *(_around(case) if denied else case for case in cases[1:])]
    text = _("The smallest sufficient access comes first.") if len(cases) > 1 else ""
    return {
        "beside_heading": _("What would allow it") if cases else _("Nothing would allow it"),
        "beside_text": text if cases else _("No grant, role or ownership leads here."),
        "cases": cases,
        "hint": _hint(place) if place.may_grant and cases else None,
    }


def _others(explanation: Explanation) -> list[Sequence[Lack]]:
    """The other ways that differ in kind: a stronger right in the same place is no other way."""
    if any(lack.kind == "denied" for lack in explanation.missing):
        return list(explanation.alternatives)
    return [way for way in explanation.alternatives if any(lack.kind != "privilege" for lack in way)]


def _hint(place: ObjectAccess) -> Reason:
    return Reason(
        "hint",
        _("You may grant access to %(name)s, so you can open the form and save it.")
        % {"name": place.node.name},
        icon="help",
    )


def _case(
    at: int, way: Sequence[Lack], speak: Words, place: ObjectAccess, request: Request, action: str
) -> Case:
    givers = speak.givers(way)
    codes = [lack.privilege for lack in way if lack.kind == "privilege" and lack.object == place.node.id]
    url = _form(place.node, speak.person, codes) if codes else ""
    actions = (
        (Action(_("Open the form"), url, "primary" if at == 0 else ""),) if url and place.may_grant else ()
    )
    if at == 0 and not actions and may_ask_for(place.asker, speak.person):
        wanted = (place.node.type, place.node.ref.id, action)
        actions = (Action(_("Request access"), ask([wanted], speak.person), "primary"),)
        url = ""
    return Case(
        id=f"way-{at}",
        heading=speak.heading(way),
        lines=speak.lines(way),
        text=_case_text(at, way, givers),
        best=at == 0,
        actions=actions,
        send_to=terms.principal_name(givers[0]) if givers and url and not place.may_grant else "",
        send=request.build_absolute_uri(url) if url and not place.may_grant else "",
    )


def _around(case: Case) -> Case:
    """A way past a denial: true, so it is told, but never offered as a form to fill in."""
    text = _("This would bypass the denial, which stays. Ask the author of the denial first. %(text)s") % {
        "text": case.text
    }
    return replace(case, text=text, actions=(), send_to="", send="")


def _form(node: Node, person: Principal, codes: Sequence[str]) -> str:
    query = [("who", str(person)), *(("may", code) for code in codes)]
    return f"{reverse('console:grant', args=[node.id])}?{urlencode(query)}"


def _case_text(at: int, way: Sequence[Lack], givers: Sequence[Principal]) -> str:
    who = words.listed([terms.principal_name(giver) for giver in givers])
    named = {"who": who[:1].upper() + who[1:]}
    if not givers:
        gives = _("It has no owner who could grant it; the operator of this Lakewarden can set one.")
    elif any(lack.kind == "denied" for lack in way):
        gives = ngettext("%(who)s can lift it.", "%(who)s can lift it.", len(givers)) % named
    elif len(way) == 1:
        gives = ngettext("%(who)s can grant it.", "%(who)s can grant it.", len(givers)) % named
    elif len(way) == 2:
        gives = ngettext("%(who)s can grant both.", "%(who)s can grant both.", len(givers)) % named
    else:
        gives = ngettext("%(who)s can grant all of it.", "%(who)s can grant all of it.", len(givers)) % named
    if at == 0:
        return _("The smallest sufficient access. %(gives)s") % {"gives": gives}
    opens = _("It gives far more access.") if any(lack.kind == "ownership" for lack in way) else ""
    return f"{opens} {gives}".strip()
