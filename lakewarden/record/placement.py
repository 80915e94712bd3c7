"""The object that evidence is about: where it stood by the record, and what the law lets people do to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lakewarden.law import dialects, engine, pattern_levels
from lakewarden.law.facts import Key, Level, Rule
from lakewarden.law.objects import ObjectRef, path_of
from lakewarden.law.principals import Principal
from lakewarden.record.archive import Broken
from lakewarden.record.stated_facts import Facts, kind


class Placement:
    """The levels from the realm's root down to the object, each by the fact that placed it there.

    `by_word` are those of which the site only says so, as the change tells of more than was to be shown.
    The law was `enforced` by the fact that says so; `mode` is what the realm's settings made of that.
    Raises Broken.
    """

    def __init__(self, facts: Facts, stated: Mapping[str, Any], question: Mapping[str, Any]):
        self.facts = facts
        try:
            self.law = dialects.get(question["law"])
        except dialects.UnknownDialect as error:
            raise Broken(str(error)) from None
        self.levels = tuple(_levels(facts, stated["place"]))
        self.by_word = [level["object"] for level in stated["place"] if "fact" not in level]
        self.ids = {level.key: self._id(depth) for depth, level in enumerate(self.levels, start=1)}
        self._is(question["object"])
        self.enforced = self._enforced(stated.get("mode") or {})
        self.mode = stated["mode"].get("settings") or self.enforced

    def tells(self, given: Mapping[str, Any]) -> bool:
        """Whether a fact gives something on the object, above it, or on a text that tells of it."""
        if given.get("securable_id") is not None:
            return given["securable_id"] in self.ids
        law = self.law
        if given.get("realm_id") != self.facts.realm or not isinstance(law, dialects.TextDialect):
            return False
        rule = Rule(given["pattern"], given["privilege"])
        below = pattern_levels.names_below(rule, *pattern_levels.named(self.levels))
        return below or pattern_levels.deepest(rule, law, self.levels) is not None

    def bears(self, principal: str, name: str) -> bool:
        """Whether the law takes a person for who bears a name: in any case of its letters, or by `*end`."""
        who, own_name = Principal.parse(principal), Principal.parse(name)
        if not self.law.ignores_case or who.kind not in ("user", "service"):
            return False
        mine, theirs = who.name.strip(" ").upper(), own_name.name.upper()
        if own_name.kind == "pattern":
            return mine.endswith(theirs[1:])
        return own_name.kind == "user" and mine == theirs

    def can(
        self,
        principal: str,
        rules: Iterable[Rule],
        *,
        member: bool,
        service_admin: bool,
        selves: Sequence[Key],
    ) -> list[str]:
        """What the law lets somebody do by these rules."""
        now = self.facts.moment.timestamp()
        slice_ = engine.build(
            Principal.parse(principal),
            self.levels[0].name,
            self.law.code,
            self.facts.revision,
            rules,
            member=member,
            service_admin=service_admin,
            mode=self.mode,
            selves=selves,
            now=now,
        )
        return sorted(engine.abilities(slice_, self.levels, now=now))

    def name_of(self, key: Key) -> str:
        """demo/shop.sales; a text is its own name."""
        return self.ids.get(key, str(key))

    def _id(self, depth: int) -> str:
        levels = self.levels[:depth]
        path = path_of([(level.type, level.name) for level in levels[1:]])
        return ObjectRef(levels[-1].type, levels[0].name, path).id

    def _is(self, state: Mapping[str, str]) -> None:
        last = self.levels[-1]
        if (state["type"], state["id"]) != (last.type, self.ids[last.key]):
            raise Broken(f"what stood there is {last.type} {self.ids[last.key]}")

    def _enforced(self, state: Mapping[str, str]) -> str:
        mode, code = state.get("mode", "on"), state.get("fact", "")
        if not code:
            raise Broken(f"nothing in it shows that authorization was {mode}")
        self.facts.held(code)
        if kind(code) != "mode" or self.facts.state(code)["mode"] != mode:
            raise Broken(f"{code} does not say that authorization was {mode}")
        if self.facts.stated[code]["lineage"] != [self.levels[0].key]:
            raise Broken(f"{code} is about another realm")
        self.facts.realm = self.facts.state(code)["realm_id"]
        return mode


def _levels(facts: Facts, levels: Sequence[Mapping[str, Any]]) -> Iterator[Level]:
    above: list[Key] = []
    for named_level in levels:
        level = Level(named_level["type"], named_level["object"], named_level["name"])
        if "fact" in named_level:
            _placed(facts, named_level["fact"], level, above)
        above.append(level.key)
        yield level
    if not above:
        raise Broken("nothing in it shows where the object stood")


def _placed(facts: Facts, code: str, level: Level, above: Sequence[Key]) -> None:
    facts.held(code)
    state = facts.state(code)
    if kind(code) != "placement" or state["ancestors"] != above:
        raise Broken(f"{code} does not stand below what is above it")
    is_personal = level.type == "role" and state["name"].startswith("~")  # the record calls it by a pseudonym
    if (state["type"], state["securable_id"]) != level[:2] or (
        state["name"] != level.name and not is_personal
    ):
        raise Broken(f"{code} puts {state['type']} {state['name']} there, not {level.type} {level.name}")
