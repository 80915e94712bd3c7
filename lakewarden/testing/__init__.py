"""For tests of jobs: a small table of facts guards a local session, and no console is asked.

FACTS = '''
allow  USE_CATALOG   catalog  shop
allow  USE_SCHEMA    schema   shop.sales
allow  SELECT_TABLE  table    shop.sales.orders
deny   SELECT_TABLE  table    shop.sales.cards
owner                schema   shop.scratch
place  s3://lake/raw fileset  shop.raw.files
'''

with guarded(spark, FACTS, catalogs={"spark_catalog": "demo/shop"}):
    my_job(spark)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.client.snapshot import Snapshot, key_in
from lakewarden.law import dialects, engine
from lakewarden.law.facts import OWNER, Rule
from lakewarden.law.locations import normal
from lakewarden.law.objects import BadName, ObjectRef, split_name
from lakewarden.law.principals import Principal

if TYPE_CHECKING:
    from lakewarden.spark import Guard

__all__ = ["BadFacts", "guarded", "snapshot"]


class BadFacts(ValueError):
    """A line of the table says nothing that the law could read."""


def snapshot(
    facts: str, *, realm: str = "demo", dialect: str = "gravitino", principal: str = "user:ana"
) -> Snapshot:
    """The facts of a table as the console would send them, never too old.  Raises BadFacts."""
    law, now, who = dialects.get(dialect), time.time(), Principal.parse(principal)
    rules: list[Rule] = []
    places: dict[str, tuple[ObjectRef, ...]] = {}
    for words in _lines(facts):
        try:
            _read(words, realm, law, rules, places)
        except (BadName, ValueError) as error:
            raise BadFacts(f"`{' '.join(words)}`: {error}") from None
    slice_ = engine.build(who, realm, dialect, 1, rules, member=True, now=now)
    return Snapshot(realm=realm, principal=who, dialect=dialect, slice=slice_, revision=1, locations=places)


def guarded(
    spark: Any,
    facts: str,
    *,
    catalogs: Mapping[str, str],
    realm: str = "demo",
    dialect: str = "gravitino",
    principal: str = "user:ana",
) -> Guard:
    """A guard for `with`, going by the facts of a table; `catalogs` as the guard's.  Raises BadFacts."""
    from lakewarden.spark.object_names import Catalogs
    from lakewarden.spark.session_guard import Guard
    from lakewarden.spark.uses import Uses

    held = FreshSnapshot.fixed(snapshot(facts, realm=realm, dialect=dialect, principal=principal))
    return Guard(spark, held, Catalogs(realm, catalogs), Uses())


_LENGTHS = {"owner": 3, "place": 4, "allow": 4, "deny": 4}


def _lines(facts: str) -> Iterator[list[str]]:
    """The words of each line; a name is the last of them, with what blanks it has.  `#` begins a remark."""
    for line in map(str.strip, facts.splitlines()):
        if line and not line.startswith("#"):
            yield line.split(None, _LENGTHS.get(line.split()[0], 4) - 1)


def _read(
    words: list[str],
    realm: str,
    law: dialects.Dialect,
    rules: list[Rule],
    places: dict[str, tuple[ObjectRef, ...]],
) -> None:
    kind, *rest = words
    if kind == "owner" and len(rest) == 2:
        rules.append(Rule(key_in(law, _object(rest, realm, law)), OWNER))
    elif kind == "place" and len(rest) == 3:
        place = normal(rest[0])
        if place is None:
            raise ValueError(f"{rest[0]} is no place")
        places[place] = (*places.get(place, ()), _object(rest[1:], realm, law))
    elif kind in ("allow", "deny") and len(rest) == 3:
        obj = _object(rest[1:], realm, law)
        reason = law.bindable(rest[0], obj.type)
        if reason:
            raise ValueError(reason)
        # a law of texts takes the text as it stands, with its `*` and `?`
        key = ":".join(rest[1:]) if isinstance(law, dialects.TextDialect) else key_in(law, obj)
        rules.append(Rule(key, rest[0], allow=kind == "allow"))
    else:
        raise ValueError(
            "write `allow PRIVILEGE type name`, `deny …`, `owner type name` or `place URI type name`"
        )


def _object(words: Iterable[str], realm: str, law: dialects.Dialect) -> ObjectRef:
    type_, name = words
    path = () if type_ == law.root_type else split_name(name)
    if law.type_path(type_, len(path)) is None:
        raise ValueError(f"no {type_} has such a name here")
    return ObjectRef(type_, realm, path)
