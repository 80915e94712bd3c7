"""What an address asks the history for, as it is read and as it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.history.kinds import kinds_in
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, somebody, unknown_words
from catalog.nodes import Node
from policies.record.history import Filter, Sight
from policies.record.revisions import moment_in


@dataclass(frozen=True)
class Question:
    """What the address asks the record for; `problems` name what it could not find.

    `realm` is the name of one that was chosen to ask about, all of which is then the filter's object.
    """

    realm: str = ""
    kind: str = ""
    person: str = ""
    actor: str = ""
    since: str = ""
    until: str = ""
    text: str = ""
    before: int | None = None
    revision: int | None = None
    filter: Filter = field(default_factory=Filter)
    problems: dict[str, str] | None = None
    doubts: dict[str, str] | None = None
    """What is wrong with the names of people unless the record has something of theirs for the viewer."""

    def doubted(self) -> Question:
        """The same where nothing was found."""
        return replace(self, problems={**(self.problems or {}), **(self.doubts or {})})

    def url(self, **changed: object) -> str:
        kept = {
            "realm": self.realm,
            "request": self.filter.request,
            "kind": self.kind,
            "person": self.person,
            "actor": self.actor,
            "since": self.since,
            "until": self.until,
            "q": self.text,
            "revision": self.revision,
            **changed,
        }
        if self.filter.object and not self.realm:
            kept["object"] = self.filter.object.id
        return "?" + urlencode({name: value for name, value in kept.items() if value})


def read(request: Request, seen: Sight, object_: Node | None = None, realm: str = "") -> Question:
    """The question in an address.  A person who is not found is a problem, never somebody else."""
    kind, kinds = kinds_in(request.GET.get("kind", ""))
    question = Question(
        realm=realm,
        kind=kind,
        person=request.GET.get("person", "").strip()[:255],
        actor=request.GET.get("actor", "").strip()[:255],
        before=number_in(request.GET.get("before", "")),
        since=request.GET.get("since", "").strip()[:40],
        until=request.GET.get("until", "").strip()[:40],
        text=request.GET.get("q", "").strip()[:255],
        revision=number_in(request.GET.get("revision", "")),
        filter=Filter(object=object_, kinds=kinds, request=request.GET.get("request", "").strip()[:64]),
        problems={},
    )
    return _with_times(_with_people(question, seen))


def _with_people(question: Question, seen: Sight) -> Question:
    by_field = {
        name: someone(text, seen)
        for name, text in (("person", question.person), ("actor", question.actor))
        if text
    }
    people = {name: choice.principal for name, choice in by_field.items()}
    named = replace(question.filter, person=people.get("person"), actor=people.get("actor"))
    problems = {
        name: choice.problem for name, choice in by_field.items() if choice.problem and not choice.principal
    }
    doubts = {
        name: choice.problem for name, choice in by_field.items() if choice.problem and choice.principal
    }
    return replace(question, filter=named, problems=problems, doubts=doubts)


@dataclass(frozen=True)
class NamedPerson:
    """Whom a filter of the history names; a problem besides stands unless something is found."""

    principal: Principal | None = None
    problem: str = ""


ABSENT = Principal(pk=0, pseudonym="nobody")
"""Asked about in place of who is not there: of nobody there is no record."""


def someone(text: str, seen: Sight) -> NamedPerson:
    """Whom a filter of the history names, or why it does not say.

    The record may name people whom the viewer cannot look up, such as who has left the realm.  They are
    there for viewers who find something of theirs; to all others they are as absent as who is not there.
    """
    circle = VisiblePrincipals(seen.viewer)
    if not seen.objects:
        own = somebody(text, Principal.objects.filter(pk=seen.viewer.pk))
        return NamedPerson(own, "" if own else unknown_words(text, circle.named(text)))
    near = circle.meant(text)
    if len(near) == 1:
        return NamedPerson(near[0])
    problem = unknown_words(text, near)
    return NamedPerson(None if near else somebody(text) or ABSENT, problem)


def _with_times(question: Question) -> Question:
    """From the beginning of a day, or a minute, to the end of another."""
    since, until = moment_in(question.since), moment_in(question.until, whole=True)
    problems = {
        name: gettext("Enter a day, or a day with a time.")
        for name, text, moment in (("since", question.since, since), ("until", question.until, until))
        if text and moment is None
    }
    filter_ = replace(question.filter, since=since, until=until, text=question.text)
    return replace(question, filter=filter_, problems={**(question.problems or {}), **problems})
