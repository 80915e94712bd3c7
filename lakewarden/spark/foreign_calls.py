"""What SQL could read out of Spark's own process, or call in it, and cannot while a guard is there.

Functions that call methods of Java are refused by their names, those that open files by an option with
such an option, and a statement that says `${env:NAME}` or `${system:NAME}` keeps that text: Spark would put
the variable in its place before anybody sees the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakewarden.spark import errors, options
from lakewarden.spark.scala_objects import pairs, texts

FUNCTIONS = ("java_method", "reflect", "try_reflect")
"""Functions of SQL that call any method of Java."""
OPENING = ("from_xml", "schema_of_xml")
"""Functions of SQL that take options of files."""
_SUBSTITUTED = ("env", "system")
_PARSER = "org.apache.spark.sql.catalyst.parser.ParserInterface"


class _Refusing:
    """Stands for a function that calls foreign code."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any, name: str, refuse: Callable[[str], Exception]) -> None:
        self._jvm, self._name, self._refuse = jvm, name, refuse

    def apply(self, arguments: Any) -> None:
        try:
            refusal = self._refuse(self._name)
        except Exception as error:  # noqa: BLE001 - nobody to refuse it to is a refusal too
            refusal = error
        raise errors.as_java(self._jvm, refusal) from None


class _Judging(_Refusing):
    """Stands for a function that takes options: it is built, and refused where one may open something."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any, name: str, refuse: Callable[[str], Exception], builds: Any) -> None:
        super().__init__(jvm, name, refuse)
        self._builds = builds

    def apply(self, arguments: Any) -> Any:
        try:
            made = self._builds.apply(arguments)
        except Exception as error:  # noqa: BLE001 - Spark's own, of a wrong call
            raise errors.as_it_was(error) from None
        if options.refused(pairs(made.options()), options.FILES):
            super().apply(arguments)
        return made


Kept = list[tuple[Any, Any, Any, Any]]
"""Registries, and what each held under a name: the name, its description and what builds it."""


def forbid(jvm: Any, registry: Any, refuse: Callable[[str], Exception]) -> Kept:
    """Let a registry of functions refuse those that call foreign code; answers what `restore` takes."""
    listed, kept = registry.listFunction(), []
    for place, text in enumerate(texts(listed)):
        name = text.rpartition(".")[2]
        if name in FUNCTIONS or name in OPENING:
            identifier = listed.apply(place)
            described = registry.lookupFunction(identifier).get()
            builds = registry.lookupFunctionBuilder(identifier).get()
            kept.append((registry, identifier, described, builds))
            stands = _Judging(jvm, name, refuse, builds) if name in OPENING else _Refusing(jvm, name, refuse)
            _put(registry, identifier, described, stands)
    return kept


def restore(kept: Kept) -> None:
    """Give the functions back."""
    for registry, identifier, described, builds in kept:
        _put(registry, identifier, described, builds)


def _put(registry: Any, identifier: Any, described: Any, builds: Any) -> None:
    registry.dropFunction(identifier)  # or Spark would ask whether the two are equal
    registry.registerFunction(identifier, described, builds)


class Parsers:
    """Spark hands it the parser of each session that begins; `on` says whether a guard is there."""

    class Java:
        implements = ["scala.Function2"]

    def __init__(self, jvm: Any) -> None:
        self._jvm, self.on = jvm, False

    def apply(self, session: Any, parser: Any) -> Any:
        if self.on:
            close(self._jvm, parser)
        return parser


def close(jvm: Any, parser: Any) -> None:
    """Let a parser put neither the environment nor Java's properties into statements.

    Raises LookupError where this Spark's parser is made in another way, for then nothing is known of it.
    """
    substitutors = _substitutors(parser, jvm.java.lang.Class.forName(_PARSER))
    if not substitutors:
        raise LookupError(f"{parser.getClass().getName()} substitutes variables in an unknown way")
    for substitutor in substitutors:
        bindings = _field(_field(substitutor, "reader"), "bindings")
        for name in _SUBSTITUTED:
            bindings.remove(name)


def _substitutors(parser: Any, kind: Any) -> list[Any]:
    """What replaces variables in a parser, and in those that it hands statements on to."""
    substitutors = []
    for field in _fields(parser):
        type_ = field.getType()
        if str(type_.getSimpleName()) == "VariableSubstitution":
            substitutors.append(_value(field, parser))
        elif kind.isAssignableFrom(type_) and (inner := _value(field, parser)) is not None:
            substitutors += _substitutors(inner, kind)
    return substitutors


def _field(thing: Any, name: str) -> Any:
    """The value of a private field; Scala may put the class before its name."""
    (field,) = [each for each in _fields(thing) if str(each.getName()).rpartition("$")[2] == name]
    return _value(field, thing)


def _fields(thing: Any) -> list[Any]:
    class_, fields = thing.getClass(), []
    while class_ is not None:
        fields += list(class_.getDeclaredFields())
        class_ = class_.getSuperclass()
    return fields


def _value(field: Any, thing: Any) -> Any:
    field.setAccessible(True)
    return field.get(thing)
