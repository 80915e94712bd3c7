"""Reading Scala's objects through py4j; a call costs some 70 µs, so each function says how many it takes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

_BETWEEN = secrets.token_hex(16)  # so that no name can pretend to be two


def class_of(thing: Any) -> str:
    """The full class name.  Two calls."""
    return str(thing.getClass().getName())


def option(thing: Any) -> Any | None:
    """What an Option holds.  Two calls."""
    return thing.get() if thing.isDefined() else None


def each(seq: Any) -> Iterator[Any]:
    """The elements of a Seq.  One call and one for each element."""
    for place in range(seq.size()):
        yield seq.apply(place)


def texts(seq: Any) -> tuple[str, ...]:
    """The texts of what a Seq holds.  One call."""
    joined = str(seq.mkString(_BETWEEN))
    return tuple(joined.split(_BETWEEN)) if joined else ()


def gateway() -> Any:
    """The way to Spark's Java, for what no object at hand leads to."""
    from pyspark import SparkContext

    return SparkContext._gateway


def java_texts(texts: Sequence[str]) -> Any:
    """The texts as an array of Java's.  Two calls and one for each text."""
    array = gateway().new_array(gateway().jvm.java.lang.String, len(texts))
    for place, text in enumerate(texts):
        array[place] = text
    return array


def pairs(map_: Any) -> dict[str, str]:
    """What a Map of texts holds.  Two calls."""
    lines = (pair[1:-1].partition(",") for pair in texts(map_.toSeq()))
    return {name: value for name, _, value in lines}


def parts_of(identifier: Any) -> tuple[str, ...]:
    """The parts of a TableIdentifier: catalog, database and name, as far as they are known.  Two calls."""
    return texts(identifier.nameParts())


def v2_name(catalog: Any, identifier: Any) -> tuple[str, ...]:
    """The parts of a name in a catalog of its own: catalog, namespace, name."""
    return (str(catalog.name()), *identifier.namespace(), str(identifier.name()))


def settings(session: Any, prefix: str) -> dict[str, str]:
    """The settings whose names begin so, without that beginning.  Few calls, for there are many."""
    settings_ = pairs(session.sessionState().conf().getAllConfs())
    return {name[len(prefix) :]: value for name, value in settings_.items() if name.startswith(prefix)}


def place_of(uri: Any) -> str:
    """The place that a java.net.URI names.  Its own text has `{` as `%7B`, which Hadoop reads as `{`."""
    return unquote(str(uri.toString()), errors="surrogateescape")


def has_method(thing: Any, method: str) -> bool:
    """Whether a Java object has a method.  py4j itself would only know when it is called."""
    return any(getmethod.getName() == method for getmethod in thing.getClass().getMethods())
