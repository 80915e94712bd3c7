"""From what Spark calls a thing to the console's object, in the words of the realm's law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lakewarden.client.snapshot import NESTED, Snapshot
from lakewarden.client.transport import NotConfigured
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef, split_name
from lakewarden.spark.actions import (
    CATALOG,
    CREATE_FUNCTION,
    CREATE_SCHEMA,
    CREATE_TABLE,
    CREATE_VIEW,
    PATH,
    READ,
    SCHEMA,
    UNKNOWN,
    USE,
    VIEW,
    WRITE,
    Action,
)
from lakewarden.spark.plan_names import SESSION_CATALOG
from lakewarden.spark.symbolic_links import led_to

SETTING = "spark.lakewarden.catalog."
_MADE_IN_SCHEMA = (CREATE_TABLE, CREATE_VIEW, CREATE_FUNCTION)


class LawQuestion(NamedTuple):
    """One question to the law; with a `reason` it is refused before the law is asked."""

    action: str
    ref: ObjectRef
    reason: str = ""


class Nameless(ObjectRef):
    """What Spark touches and no object of the console stands for: a path, a catalog, an unknown operation."""

    def __str__(self) -> str:
        return " ".join(part for part in (self.type, *self.path) if part)


class Catalogs:
    """Which of Spark's catalogs stands for what: `{"spark_catalog": "demo/shop"}`, read once.

    Raises NotConfigured for what names no place below the realm.
    """

    def __init__(self, realm: str, places: Mapping[str, str]) -> None:
        self.realm = realm
        self._places = {name: _below(realm, name, place) for name, place in places.items()}

    def __getitem__(self, catalog: str) -> tuple[str, ...] | None:
        return self._places.get(catalog)


def _below(realm: str, name: str, place: str) -> tuple[str, ...]:
    given, _, below = place.partition("/")
    try:
        path = split_name(below)
    except BadName:
        raise NotConfigured(
            f"{SETTING}{name} must name a catalog, such as {realm}/shop; it is `{place}`"
        ) from None
    if given != realm:
        raise NotConfigured(f"{SETTING}{name} is in {given}, but the guard asks about {realm}")
    return path


def questions(touches: Iterable[Action], snapshot: Snapshot, catalogs: Catalogs) -> list[LawQuestion]:
    """What the law is asked.  Where views are objects, what lies below one is its maker's affair."""
    has_views = "view" in dialects.get(snapshot.dialect).children
    questions_: dict[LawQuestion, None] = {}
    for touch in touches:
        if touch.kind == UNKNOWN:
            text = touch.name[1] if len(touch.name) > 1 else _NO_OPERATION
            questions_.setdefault(LawQuestion("run", Nameless("", catalogs.realm, touch.name[:1]), text))
        elif not (touch.inside if has_views else touch.kind == VIEW and touch.action == READ):
            questions_.update(dict.fromkeys(_of_touch(touch, snapshot, catalogs)))
    return list(questions_)


_NO_OPERATION = "the guard does not know this operation"
_NOWHERE = "it is not in a fileset or table that you can see in the console"
_STRAYED = "the table's files are there, not at the location in the console"
_HIDDEN = "an object that you cannot see in the console is there, around it or inside it"


def _of_touch(touch: Action, snapshot: Snapshot, catalogs: Catalogs) -> Iterator[LawQuestion]:
    if touch.kind == PATH:
        yield from _of_place(touch.action, touch.name[0], snapshot, catalogs.realm)
        return
    question = _question(touch, snapshot, catalogs)
    yield question
    for place in touch.places:
        # the files of a table take more than its name where the console knows them as something else's too
        action = touch.action
        table = question.ref
        for item in (place, *led_to(place, snapshot)):
            reach = snapshot.reach(item)
            own = table in snapshot.nearest(item)
            for ref in reach.within if own else (*reach.around, *reach.within):
                if ref != table:
                    yield LawQuestion(action if action in (READ, USE) else WRITE, ref)
            strayed = not reach.around and any(table in refs for refs in snapshot.locations.values())
            if not reach.whole or (strayed and not own):
                text = _HIDDEN if not reach.whole else _STRAYED
                yield LawQuestion(action, Nameless("path", catalogs.realm, (item,)), text)


def _of_place(action: str, place: str, snapshot: Snapshot, realm: str) -> Iterator[LawQuestion]:
    """A path takes the right of all that it lies in and of all that lies in it."""
    for item in (place, *led_to(place, snapshot)):
        reach = snapshot.reach(item)
        for ref in (*reach.around, *reach.within):
            yield LawQuestion(action, ref)
        if not reach.whole or not reach.around:
            text = _NOWHERE if not (reach.around or reach.within) else _HIDDEN
            yield LawQuestion(action, Nameless("path", realm, (item,)), text)


def _question(touch: Action, snapshot: Snapshot, catalogs: Catalogs) -> LawQuestion:
    place = catalogs[touch.name[0]]
    if place is None:
        text = f"catalog {touch.name[0]} is not mapped to a governed catalog; set {SETTING}{touch.name[0]}"
        return LawQuestion(touch.action, Nameless(touch.kind, catalogs.realm, (".".join(touch.name),)), text)
    question = _named(touch, place, snapshot, catalogs.realm)
    if touch.name[0] != SESSION_CATALOG:
        return question
    return question._replace(
        ref=snapshot.spelled(question.ref)
    )  # that catalog takes any case, and keeps its own


def _named(touch: Action, place: tuple[str, ...], snapshot: Snapshot, realm: str) -> LawQuestion:
    types = dialects.get(snapshot.dialect).children
    if "table" in types:
        # catalog, schema, table: what is made is asked of what it is made in
        below = touch.name[1:]
        if touch.kind == CATALOG or (touch.action == CREATE_SCHEMA and len(below) == 1):
            return LawQuestion(touch.action, ObjectRef("catalog", realm, place))
        if touch.action == CREATE_SCHEMA:
            return LawQuestion(touch.action, ObjectRef("schema", realm, (*place, NESTED.join(below[:-1]))))
        if touch.kind == SCHEMA:
            return LawQuestion(touch.action, ObjectRef("schema", realm, (*place, NESTED.join(below))))
        schema = (*place, NESTED.join(below[:-1]))
        if touch.action in _MADE_IN_SCHEMA:
            return LawQuestion(touch.action, ObjectRef("schema", realm, schema))
        return LawQuestion(touch.action, ObjectRef(touch.kind, realm, (*schema, below[-1])))
    if "dataset" in types:
        # a catalog stands for a namespace, a table in it for the dataset of its name
        if touch.kind in (CATALOG, SCHEMA):
            return LawQuestion(touch.action, ObjectRef("namespace", realm, place))
        action = "create_dataset" if touch.action in _MADE_IN_SCHEMA else touch.action
        return LawQuestion(action, ObjectRef("dataset", realm, (*place, touch.name[-1])))
    # a catalog stands for a namespace as a whole, and all that lies in it for nothing finer
    return LawQuestion(
        touch.action if touch.action in (READ, USE) else WRITE, ObjectRef("namespace", realm, place)
    )
