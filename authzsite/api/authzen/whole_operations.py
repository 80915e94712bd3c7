"""One question about a whole operation of a CDAP: who requests it, who executes it, and each part it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from authzsite.api.authzen.answers import Answer
from authzsite.api.authzen.questions import Action, BadQuestion, Entity, Question
from catalog.queries import realm_named
from lakewarden.law.dialects.cdap.authorizable import Authorizable, of, split
from lakewarden.law.dialects.cdap.whole import WHOLE, BadPart, Named, PartQuestion, parts, user_of

MOST_PARTS = 200


class WholeQuestion(NamedTuple):
    """A question with the questions that it comes to."""

    parts: tuple[PartQuestion, ...]
    questions: tuple[Question, ...]


def expanded(question: Question) -> WholeQuestion | None:
    """The parts of a question about a whole operation; None for any other.  Raises BadQuestion."""
    subject, action, resource = question
    whole = WHOLE.get(action.name)
    if whole is None or "condition" in action.properties or resource.type != whole.about:
        return None
    realm, _, name = resource.id.partition("/")
    if subject.type != "user" or not name:
        raise BadQuestion(f"{action.name} is asked for a user, about a {whole.about} of a CDAP")
    impersonated = _text(action.properties, "executing_user")
    about = of(resource.type, *split(resource.type, name))
    items = action.properties.get("parts", [])
    if not isinstance(items, list) or any(not isinstance(item, dict) for item in items):
        raise BadQuestion("action.properties.parts must be a list of objects")
    if len(items) > MOST_PARTS:
        raise BadQuestion(f"action.properties.parts holds more than {MOST_PARTS} items")
    named = [_named(item, realm) for item in items]
    try:
        questions_ = parts(action.name, about, named, impersonated=impersonated)
    except BadPart as problem:
        raise BadQuestion(str(problem)) from None
    # whom programs run as where nobody is impersonated; never told, only asked about
    root = realm_named(realm)
    master = str(root.settings.get("master_user", "")) if root else ""
    who = {
        item.subject: user_of(item.subject, requesting=subject.id, impersonated=impersonated, master=master)
        for item in questions_
    }
    questions = tuple(_question(item, who[item.subject], realm) for item in questions_)
    return WholeQuestion(tuple(questions_), questions)


def joined(whole: WholeQuestion, answers: Sequence[Answer]) -> Answer:
    """The answer to the whole: yes where every part is allowed, and which part lacks what."""
    undecided = next((answer for answer in answers if answer.status != 200), None)
    if undecided is not None:
        return undecided
    allowed = all(answer.allowed for answer in answers)
    rows = [_row(part, answer) for part, answer in zip(whole.parts, answers, strict=True)]
    context: dict[str, Any] = {"revision": answers[0].context.get("revision"), "parts": rows}
    if not allowed:
        lacking = sum(not answer.allowed for answer in answers)
        context["reason_user"] = f"{lacking} of {len(rows)} parts of it are not allowed."
        context["missing"] = [lack for item in answers for lack in item.context.get("missing", ())]
    return Answer(allowed, context)


def _row(part: PartQuestion, answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {
        "user": part.subject,
        "condition": part.condition,
        "entity": str(part.entity),
        "privileges": list(part.privileges),
        "decision": answer.allowed,
    }
    return row if answer.allowed else {**row, "missing": list(answer.context.get("missing", ()))}


def _question(part: PartQuestion, who: str, realm: str) -> Question:
    action = Action(part.table, {"condition": part.condition, "subject": part.subject})
    return Question(Entity("user", who), action, Entity(part.entity.type, f"{realm}/{_id(part.entity)}"))


def _id(entity: Authorizable) -> str:
    return ".".join(entity.parts)


def _named(item: Mapping[str, Any], realm: str) -> Named:
    resource = item.get("resource")
    if not isinstance(resource, dict):
        raise BadQuestion("resource of a part must be an object")
    condition, type, id = _text(item, "condition"), _text(resource, "type"), _text(resource, "id")
    where, _, name = id.partition("/")
    if not (condition and type and name) or where != realm:
        raise BadQuestion("a part has a condition and a resource in the same realm")
    return Named(condition, of(type, *split(type, name)))


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str):
        raise BadQuestion(f"{name} must be a string")
    return value
