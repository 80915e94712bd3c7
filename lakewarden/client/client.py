"""Ask the console before touching data: one call for everything a job needs, every lack named at once.

    from lakewarden.client import Client
    Client().require_many([("user:ana", "read", "table:demo/shop.sales.orders")])

The address and token come from LAKEWARDEN_URL and LAKEWARDEN_TOKEN, own authorities from LAKEWARDEN_CA.
No answer is never a yes: everything but a clear decision raises.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from lakewarden.client import access_requests, changes, policy_files, simulations
from lakewarden.client.calculations import Progress
from lakewarden.client.snapshot import BadSnapshot, Snapshot
from lakewarden.client.transport import (
    BadCredentials,
    BadQuestion,
    Conflicting,
    ConsoleError,
    MayNotAsk,
    NotConfigured,
    Reply,
    Transport,
    Unavailable,
    setting,
)
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.principals import BadPrincipal, Principal

__all__ = [
    "AccessDenied",
    "BadCredentials",
    "BadName",
    "BadPrincipal",
    "BadQuestion",
    "BadSnapshot",
    "Client",
    "Conflicting",
    "ConsoleError",
    "Decision",
    "Lack",
    "MayNotAsk",
    "NotConfigured",
    "Question",
    "Unavailable",
]

BATCH = 500
SNAPSHOT = "/authz/v1/snapshot"
SEARCH = "/access/v1/search"
PAGE = 500


class Question(NamedTuple):
    """May `subject` do `action` on `resource`?"""

    subject: Principal
    action: str
    resource: ObjectRef

    def __str__(self) -> str:
        return f"{self.subject} {self.action} {self.resource}"


Subject = Union[Principal, str]
Resource = Union[ObjectRef, str]
Asked = tuple[Subject, str, Resource]


_VERBS = {
    "privilege": "lacks {what} on",
    "denied": "is denied {what} on",
    "ownership": "does not own",
    "membership": "is not a member of",
}


@dataclass(frozen=True)
class Lack:
    """One thing that is lacking, where, and who can give it (None when that is not for the asker to know)."""

    kind: str
    privilege: str | None = None
    object: str | None = None
    owner: str | None = None

    @property
    def can_be_given(self) -> bool:
        """Whether somebody could mend it; other lacks lie in the question itself."""
        return self.kind in _VERBS

    def __str__(self) -> str:
        verb = _VERBS.get(self.kind, "lacks {what} on").format(what=self.privilege or self.kind)
        who = f" (owner: {self.owner})" if self.owner else ""
        return f"{verb} {self.object or 'it'}{who}"


@dataclass(frozen=True)
class Decision:
    """What the console said; truthy only for a yes.

    `missing` has the smallest set of lacks, `request_url` where to ask for them.
    """

    question: Question
    allowed: bool
    reason: str = ""
    missing: tuple[Lack, ...] = ()
    revision: int | None = None
    request_url: str | None = None

    def __bool__(self) -> bool:
        return self.allowed


class AccessDenied(PermissionError):
    """At least one of the questions was refused; `refusals` holds every one that was."""

    def __init__(self, refusals: Sequence[Decision], asked: int) -> None:
        self.refusals, self.asked = tuple(refusals), asked
        super().__init__("\n".join(self._lines()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.refusals, self.asked)

    def _lines(self) -> Iterable[str]:
        yield f"access denied: {len(self.refusals)} of {self.asked} refused, nothing was read"
        for refusal in self.refusals:
            subject, action, resource = refusal.question
            yield f"  {subject} may not {action} {resource}"
            given = [lack for lack in refusal.missing if lack.can_be_given]
            yield from (f"    {lack}" for lack in given)
            if not given and refusal.reason:
                yield f"    {refusal.reason}"
            if refusal.request_url:
                yield f"    request access: {refusal.request_url}"


class Client:
    """Asks one console; `timeout` is seconds for a call with all its attempts, `attempts` at most.

    What may pass (503, a connection that is refused) is tried again within that time, as Retry-After says.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 5.0,
        attempts: int = 4,
        ca: str | None = None,
    ) -> None:
        self._transport = Transport(
            setting(url, "LAKEWARDEN_URL"),
            setting(token, "LAKEWARDEN_TOKEN"),
            timeout=timeout,
            total=timeout,
            attempts=attempts,
            ca=ca or os.environ.get("LAKEWARDEN_CA") or None,
        )

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    @property
    def url(self) -> str:
        """The console's address."""
        return self._transport.url

    def check(self, subject: Subject, action: str, resource: Resource) -> Decision:
        """The decision on one question.  Raises ConsoleError when there is none."""
        question = read_question((subject, action, resource))
        return self._decision(question, self._transport.post("/access/v1/evaluation", _wire(question)))

    def check_many(self, questions: Iterable[Asked]) -> list[Decision]:
        """The decisions in the order asked, 500 questions a call.  Raises ConsoleError when one lacks."""
        questions_read = [read_question(each) for each in questions]
        decisions: list[Decision] = []
        for start in range(0, len(questions_read), BATCH):
            decisions += self._batch(questions_read[start : start + BATCH])
        return decisions

    def require_many(self, questions: Iterable[Asked]) -> list[Decision]:
        """The decisions when all are yes; else AccessDenied with every refusal at once."""
        decisions = self.check_many(questions)
        refusals = [each for each in decisions if not each.allowed]
        if refusals:
            raise AccessDenied(refusals, asked=len(decisions))
        return decisions

    def snapshot(
        self,
        realm: str,
        principal: Subject | None = None,
        *,
        held: Snapshot | None = None,
        now: float | None = None,
    ) -> Snapshot:
        """The facts of a principal, else of the token's own, in a realm; `held` itself when it is still good.

        Raises ConsoleError; BadSnapshot for one that is not to be gone by.
        """
        reply = self._snapshot(realm, principal, f'"{held.digest}"' if held else "")
        if reply.value is None and held is not None:
            held.check(time.time() if now is None else now)
            return held
        snapshot = Snapshot.read(reply.value or {}, now=now)
        whose = snapshot.principal if principal is None else principal
        if snapshot.realm != realm or str(snapshot.principal) != str(held.principal if held else whose):
            raise BadSnapshot("other", f"{self._transport.url} sent the snapshot of another principal")
        return snapshot

    def snapshot_document(self, realm: str, principal: Subject | None = None) -> dict[str, Any]:
        """The snapshot as it was sent, to be kept and read later by `Snapshot.read`.  Raises ConsoleError."""
        return self._snapshot(realm, principal, "").value or {}

    def _snapshot(self, realm: str, principal: Subject | None, etag: str) -> Reply:
        query = {"realm": realm} if principal is None else {"realm": realm, "for": str(principal)}
        return self._transport.get(SNAPSHOT, query, etag=etag)

    def changes(self, realm: str, after: int | None = None) -> Iterator[changes.Touched]:
        """Whose answers change in a realm, as it happens, after a revision; ends when the console ends it.

        Raises ConsoleError.
        """
        return changes.changes(self._transport, realm, after)

    def who_may(self, action: str, resource: Resource, kind: str = "user") -> Iterator[Principal]:
        """Everybody of a kind who may do it to the object, page by page.  Raises ConsoleError."""
        ref = resource if isinstance(resource, ObjectRef) else parse_resource(resource)
        body = {"subject": {"type": kind}, "action": {"name": action}, "resource": _entity(ref.type, ref.id)}
        for item in self._results("subject", body):
            yield Principal(self._field(item, "type"), self._field(item, "id"))

    def where_may(self, subject: Subject, action: str, type_: str) -> Iterator[ObjectRef]:
        """Every object of a type on which the action is allowed, page by page.  Raises ConsoleError."""
        who = subject if isinstance(subject, Principal) else Principal.parse(subject)
        resource = {"type": type_}
        body = {"subject": _entity(who.kind, who.name), "action": {"name": action}, "resource": resource}
        for item in self._results("resource", body):
            yield ObjectRef.parse(self._field(item, "type"), self._field(item, "id"))

    def what_may(self, subject: Subject, resource: Resource) -> list[str]:
        """The names of what may be done to the object.  Raises ConsoleError."""
        query = _wire(read_question((subject, "", resource)))
        body = {name: query[name] for name in ("subject", "resource")}
        return [self._field(item, "name") for item in self._results("action", body)]

    def explain(self, subject: Subject, action: str, resource: Resource) -> dict[str, Any]:
        """The decision as a tree, as the console words it.  Raises ConsoleError."""
        who, name, ref = read_question((subject, action, resource))
        query = {"principal": str(who), "action": name, "resource": ref.id, "type": ref.type}
        return self._transport.get("/authz/v1/explain", query).value or {}

    def simulate(
        self,
        realm: str,
        changes: Sequence[Mapping[str, Any]],
        *,
        questions: Iterable[Asked] = (),
        replay_days: int | None = None,
        cursor: str = "",
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """What changes would do, as the console words it; nothing is changed.  Raises ConsoleError.

        Each change is as `POST /authz/v1/simulate` takes it.  With `replay_days`, uses of the last days are
        decided again.  A large effect is waited for; `progress` hears how far it is.
        """
        questions_read = [_wire(read_question(each)) for each in questions]
        return simulations.simulate(
            self._transport,
            realm,
            changes,
            questions=questions_read,
            replay_days=replay_days,
            cursor=cursor,
            progress=progress,
        )

    def export_policies(self, realm: str, *, objects: bool = True, tree: bool = False) -> str:
        """A realm as a policy file, the text as the console writes it.  Raises ConsoleError.

        As a `tree` it is the text of several files, which `policy_trees.write` puts into a folder.
        """
        return policy_files.export(self._transport, realm, objects=objects, tree=tree)

    def import_policies(self, source: str, text: str, *, realm: str, catalog: str = "") -> dict[str, Any]:
        """Access as another system wrote it down, as a policy file.  Raises ConsoleError.

        The answer has `file`, and with what and why each, `left_out` and `added`.
        """
        return policy_files.read_from(self._transport, source, text, realm=realm, catalog=catalog)

    def plan_policies(
        self, file: str, *, replay_days: int | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """What a policy file would change; nothing is changed.  Raises ConsoleError.

        A large effect is waited for; `progress` hears how far it is.
        """
        return policy_files.plan(self._transport, file, replay_days=replay_days, progress=progress)

    def policy_drift(self, realm: str) -> dict[str, Any]:
        """What was changed beside a realm's policy files since they were applied.  Raises ConsoleError."""
        return policy_files.drift(self._transport, realm)

    def apply_policies(self, file: str, plan: str, reason: str = "") -> dict[str, Any]:
        """Apply a file as the plan of that name had it.  Raises Conflicting when something changed since."""
        return policy_files.apply(self._transport, file, plan, reason)

    def resolve(
        self, realm: str, names: Sequence[str] = (), locations: Sequence[str] = ()
    ) -> dict[str, ObjectRef | None]:
        """What object each name and each location is; None for what may not be known.

        Raises ConsoleError.
        """
        body = {"realm": realm, "names": list(names), "locations": list(locations)}
        answer = self._transport.post("/authz/v1/resolve", body)
        return {
            text: self._object(_entry(answer, place, text))
            for place, texts in (("names", names), ("locations", locations))
            for text in texts
        }

    def ask_for(
        self,
        questions: Iterable[Asked],
        reason: str,
        *,
        lasts: str = "",
        ticket: str = "",
        key: str = "",
    ) -> access_requests.Request:
        """Ask for what was refused, as one request; those who may give it decide.  Raises ConsoleError.

        All questions are about one subject and realm; `lasts` is ISO 8601 (`P30D`), none for no end.  A `key`
        of your own, such as a run's name, makes the same request one however often the job runs.
        """
        questions_read = [_wire(read_question(each)) for each in questions]
        return access_requests.ask(
            self._transport, questions_read, reason, lasts=lasts, ticket=ticket, key=key
        )

    def request(self, number: int) -> access_requests.Request:
        """A request as it stands now.  Raises ConsoleError."""
        return access_requests.fetch(self._transport, number)

    def withdraw(self, number: int, reason: str = "") -> access_requests.Request:
        """Take a request back.  Raises ConsoleError."""
        return access_requests.withdraw(self._transport, number, reason)

    def report_uses(self, realm: str, run: str, uses: Sequence[Mapping[str, Any]]) -> None:
        """Tell what a run used; telling it again changes nothing.  Raises ConsoleError.

        Each use has `resource` (`table:realm/name`) and `action`, and where they are not the token's own and
        now, `principal` and `at`; `executed` is false for what was prepared and not done.
        """
        self._transport.post("/authz/v1/uses", {"realm": realm, "run": run, "uses": list(uses)})

    def _results(self, what: str, body: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
        page: dict[str, object] = {"limit": PAGE}
        seen: set[object] = set()
        while True:
            answer = self._transport.post(f"{SEARCH}/{what}", {**body, "page": page})
            results, token = answer.get("results"), _entry(answer, "page", "next_token")
            if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
                raise Unavailable(f"{self._transport.url} did not answer the search")
            yield from results
            if not token:
                return
            if not isinstance(token, str) or token in seen:
                raise Unavailable(f"{self._transport.url} repeats the same page of the search")
            seen.add(token)
            page = {"limit": PAGE, "token": token}

    def _field(self, item: Mapping[str, Any], name: str) -> str:
        value = item.get(name)
        if not isinstance(value, str):
            raise Unavailable(f"{self._transport.url} did not answer the search")
        return value

    def _object(self, value: object) -> ObjectRef | None:
        if not isinstance(value, Mapping):
            return None
        return ObjectRef.parse(self._field(value, "type"), self._field(value, "id"))

    def _batch(self, asked: list[Question]) -> list[Decision]:
        body = {"evaluations": [_wire(question) for question in asked]}
        answers = self._transport.post("/access/v1/evaluations", body).get("evaluations")
        if not isinstance(answers, list) or len(answers) != len(asked):
            raise Unavailable(f"{self._transport.url} did not answer every question")
        return [self._decision(question, answer) for question, answer in zip(asked, answers)]

    def _decision(self, question: Question, answer: object) -> Decision:
        allowed = answer.get("decision") if isinstance(answer, Mapping) else None
        if not isinstance(answer, Mapping) or not isinstance(allowed, bool):
            raise Unavailable(f"{self._transport.url} did not decide on {question}")
        context = answer.get("context")
        return self._explained(question, allowed, context if isinstance(context, Mapping) else {})

    def _explained(self, question: Question, allowed: bool, context: Mapping[str, Any]) -> Decision:
        missing, revision = context.get("missing"), context.get("revision")
        reason = context.get("reason_user") or _entry(context, "error", "message")
        return Decision(
            question=question,
            allowed=allowed,
            reason=self._text(reason) or "",
            missing=tuple(self._lack(each) for each in missing) if isinstance(missing, list) else (),
            revision=revision if isinstance(revision, int) else None,
            request_url=self._text(context.get("request_url")),
        )

    def _lack(self, value: object) -> Lack:
        lack = value if isinstance(value, Mapping) else {}
        type_, id_ = _entry(lack, "object", "type"), _entry(lack, "object", "id")
        return Lack(
            kind=self._text(lack.get("kind")) or "unknown",
            privilege=self._text(lack.get("privilege")),
            object=self._text(f"{type_} {id_}" if type_ and id_ else None),
            owner=self._text(lack.get("owner")),
        )

    def _text(self, value: object) -> str | None:
        return self._transport.tidy(value) if isinstance(value, str) and value else None


def _entry(outer: Mapping[str, Any], name: str, inner: str) -> Any:
    value = outer.get(name)
    return value.get(inner) if isinstance(value, Mapping) else None


def read_question(asked: Asked) -> Question:
    """A question from texts or values.  Raises BadName, BadPrincipal."""
    subject, action, resource = asked
    return Question(
        subject if isinstance(subject, Principal) else Principal.parse(subject),
        action,
        resource if isinstance(resource, ObjectRef) else parse_resource(resource),
    )


def parse_resource(text: str) -> ObjectRef:
    """Read `table:demo/shop.sales.orders`; raises BadName."""
    type_, colon, id_ = text.partition(":")
    if not colon or not type_:
        raise BadName(f"`{text}` does not name an object; write table:realm/catalog.schema.table")
    return ObjectRef.parse(type_, id_)


def _wire(question: Question) -> dict[str, object]:
    subject, action, resource = question
    return {
        "subject": _entity(subject.kind, subject.name),
        "action": {"name": action},
        "resource": _entity(resource.type, resource.id),
    }


def _entity(type_: str, id_: str) -> dict[str, str]:
    return {"type": type_, "id": id_}
