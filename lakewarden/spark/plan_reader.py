"""From one of Spark's analysed plans to everything it touches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakewarden.spark.actions import ALTER, PATH, READ, SCHEMA, UNKNOWN, VIEW, WRITE, Action, unknown
from lakewarden.spark.commands import DATABASE, NOTHING, PLAIN, QUERIES, Plain
from lakewarden.spark.options import places_in
from lakewarden.spark.plan_names import ELSEWHERE, NO_CONSOLE, RELATIONS, Console, Name, Namer, is_jdbc
from lakewarden.spark.plan_nodes import OPERATORS, SEQUENCE
from lakewarden.spark.scala_objects import class_of, each, pairs
from lakewarden.spark.write_commands import COMMANDS, live_in

_VIEW = "org.apache.spark.sql.catalyst.plans.logical.View"


Folders = dict[str, tuple[str, ...]]
"""The folders of tables that were just approved to be made; each is good for one write into it."""


class PlanWalk:
    """One walk through one plan; `touches` has what was found, in the order it was met."""

    def __init__(
        self, session: Any, has_subqueries: Any, folders: Folders, console: Console = NO_CONSOLE
    ) -> None:
        self.namer = Namer(session, console)
        self.touches: dict[Action, None] = {}
        self._pattern, self._folders = has_subqueries, folders
        self._inside = False

    def touch(self, touch: Action) -> None:
        if touch.kind == PATH:
            touch = touch._replace(name=(self.namer.place(touch.name[0]),))
        places = tuple(map(self.namer.place, touch.places))
        self.touches.setdefault(touch._replace(inside=self._inside, places=places))

    def do(self, action: str, names: Iterable[Name]) -> None:
        for name in names:
            self.touch(Action(action, name.kind, name.parts, places=name.places))

    def expect(self, folder: str, table: tuple[str, ...]) -> None:
        self._folders[folder] = table

    def expected(self, folder: str) -> tuple[str, ...] | None:
        return self._folders.pop(folder, None)

    def query(self, plan: Any) -> None:
        """Everything in a plan, its subqueries included."""
        searched = bool(plan.containsPattern(self._pattern))
        waiting = [(plan, self._inside)]
        while waiting:
            node, self._inside = waiting.pop()
            below = list(self._node(node))
            waiting += [(item, self._inside) for item in reversed(below)]
            if searched:
                waiting += [(item, self._inside) for item in each(node.subqueries())]
        self._inside = False

    def _node(self, node: Any) -> Iterable[Any]:
        """Take what one node touches; answers the nodes below it."""
        name = class_of(node)
        inputs = OPERATORS.get(name)
        if inputs is not None:
            return [below for method in inputs for below in _inputs(node, method)]
        if name == _VIEW:
            if not node.isTempView():
                self.do(READ, [Name(VIEW, name.parts) for name in self.namer.described(node.desc())])
                self._inside = True
            return (node.child(),)
        if name in RELATIONS:
            self.do(READ, self.namer.names(node))
            if name.endswith(".ResolvedTempView"):  # somebody asks what it is like
                self.namer.look_through(self.namer.temporary(node))
        else:
            self._command(name, node)
        return ()

    def _command(self, name: str, node: Any) -> None:
        if name in NOTHING:
            return
        if (plain := PLAIN.get(name)) is not None:
            self._plain(plain, node)
        elif (reading := COMMANDS.get(name)) is not None:
            reading(self, node)
        elif (action := DATABASE.get(name)) is not None:
            self.touch(Action(action, SCHEMA, (self.namer.current_catalog(), str(node.databaseName()))))
        elif name in QUERIES:
            for method in QUERIES[name]:
                self.query(getattr(node, method)())
        else:
            self.touch(unknown(name))

    def _plain(self, plain: Plain, node: Any) -> None:
        target = getattr(node, plain.target)()
        names = self.namer.names(target)
        if plain.view and getattr(node, plain.view)():
            names = tuple(name if name.kind == UNKNOWN else Name(VIEW, name.parts) for name in names)
        self.do(plain.action, names)
        if plain.action == READ and (view := self.namer.temporary(target)):
            self.namer.look_through(view)
        if plain.action == ALTER:
            self.do(ALTER, self.namer.altered(target, node))
        if plain.options:
            self.do(WRITE, self.namer.misled(target.table(), pairs(getattr(node, plain.options)())))
        if plain.location:
            live_in(self, str(getattr(node, plain.location)()))
        if plain.comment:
            self.do(plain.action, _remarks(target, [str(getattr(node, plain.comment)())]))
        if plain.properties:
            properties = pairs(getattr(node, plain.properties)())
            self.do(plain.action, _remarks(target, properties.values()))
            for place in places_in(properties):
                live_in(self, place)
        for method in plain.queries:
            self.query(getattr(node, method)())


def _remarks(target: Any, said: Iterable[str]) -> list[Name]:
    """Remarks on a schema that a database would read as SQL: before 4.3 Spark hands them on as they stand."""
    quoted = any("'" in text or "\\" in text for text in said)
    if not quoted or not class_of(target).endswith(".ResolvedNamespace") or not is_jdbc(target.catalog()):
        return []
    return [Name(UNKNOWN, ("a comment with quotes", ELSEWHERE))]


def _inputs(node: Any, method: str) -> Iterable[Any]:
    answered = getattr(node, method)()
    return each(answered) if method == SEQUENCE else (answered,)
