"""What was asked, read strictly: a wrong type is told, never bent into a right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast, get_args

from authzsite.api.strictjson import BadBody

Body = Mapping[str, Any]
Semantic = Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"]
SEMANTICS: tuple[str, ...] = get_args(Semantic)
MOST_ITEMS = 1000
DEFAULTS = ("subject", "action", "resource", "context")


class BadQuestion(BadBody):
    """The question is not well formed; the text names the field."""


class Entity(NamedTuple):
    """A subject or a resource as it was sent."""

    type: str
    id: str
    properties: Mapping[str, Any] = {}


class Action(NamedTuple):
    name: str
    properties: Mapping[str, Any] = {}


class Question(NamedTuple):
    """One well-formed question; whether its names mean anything is not known yet."""

    subject: Entity
    action: Action
    resource: Entity


class Batch(NamedTuple):
    """Items in the order asked; a broken one stands in its place as its error."""

    items: tuple[Question | BadQuestion, ...]
    semantic: Semantic


def read_question(body: Body) -> Question:
    """One question.  Unknown fields are ignored; raises BadQuestion."""
    return _checked(
        body, Question(_entity(body, "subject"), _action(_object(body, "action")), _entity(body, "resource"))
    )


def read_subject_search(body: Body) -> Question:
    """Who may do this to that?  An id of the subject is ignored."""
    return _checked(
        body, Question(_kind(body, "subject"), _action(_object(body, "action")), _entity(body, "resource"))
    )


def read_resource_search(body: Body) -> Question:
    """What may the subject do this to?  An id of the resource is ignored."""
    return _checked(
        body, Question(_entity(body, "subject"), _action(_object(body, "action")), _kind(body, "resource"))
    )


def read_action_search(body: Body) -> Question:
    """What may the subject do to that?  An action is ignored."""
    return _checked(body, Question(_entity(body, "subject"), Action(""), _entity(body, "resource")))


def _checked(body: Body, question: Question) -> Question:
    _optional_object(body, "context")
    return question


def read_batch(body: Body) -> Batch | Question:
    """The items with the defaults filled in, or the single question that a body without items is."""
    semantic = _semantic(body)
    items = body.get("evaluations", [])
    if not isinstance(items, list):
        raise BadQuestion("evaluations must be a list")
    if not items:
        return read_question(body)
    if len(items) > MOST_ITEMS:
        raise BadQuestion(f"evaluations holds more than {MOST_ITEMS} items")
    defaults = {name: body[name] for name in DEFAULTS if name in body}
    for name in defaults:
        if name == "action":
            _action(_object(body, name))
        elif name == "context":
            _optional_object(body, name)
        else:
            _entity(body, name)
    return Batch(tuple(_item(defaults, each) for each in items), semantic)


def _item(defaults: Body, item: object) -> Question | BadQuestion:
    if not isinstance(item, dict):
        return BadQuestion("an item of evaluations must be an object")
    try:
        return read_question({**defaults, **item})
    except BadQuestion as error:
        return error


def _semantic(body: Body) -> Semantic:
    options = _optional_object(body, "options")
    semantic = options.get("evaluations_semantic", "execute_all")
    if semantic not in SEMANTICS:
        raise BadQuestion(f"options.evaluations_semantic must be one of {', '.join(SEMANTICS)}")
    return cast("Semantic", semantic)


def _entity(body: Body, name: str) -> Entity:
    entity = _object(body, name)
    return Entity(
        _string(entity, name, "type"),
        _string(entity, name, "id"),
        _optional_object(entity, "properties", name),
    )


def _kind(body: Body, name: str) -> Entity:
    entity = _object(body, name)
    return Entity(_string(entity, name, "type"), "", _optional_object(entity, "properties", name))


def _action(action: Body) -> Action:
    return Action(_string(action, "action", "name"), _optional_object(action, "properties", "action"))


def _object(body: Body, name: str) -> Body:
    if name not in body:
        raise BadQuestion(f"{name} is missing")
    if not isinstance(body[name], dict):
        raise BadQuestion(f"{name} must be an object")
    return cast("Body", body[name])


def _optional_object(body: Body, name: str, outer: str = "") -> Body:
    value = body.get(name, {})
    if not isinstance(value, dict):
        raise BadQuestion(f"{outer}{'.' if outer else ''}{name} must be an object")
    return value


def _string(body: Body, outer: str, name: str) -> str:
    if name not in body:
        raise BadQuestion(f"{outer}.{name} is missing")
    if not isinstance(body[name], str):
        raise BadQuestion(f"{outer}.{name} must be a string")
    return cast("str", body[name])
