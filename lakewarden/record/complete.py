"""Whether evidence leaves something out, by the whole record: an end, a denial, somebody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from lakewarden.record.archive import Broken
from lakewarden.record.placement import Placement
from lakewarden.record.stated_facts import GIFTS, ROLE, kind, receiver

Event = Mapping[str, Any]


def check(
    changes: Iterable[Mapping[str, Any]], told: Mapping[str, Any], place: Placement, *, everybody: bool
) -> str:
    """Hold evidence against every change there is; of `everybody` nobody may be missing.  Raises Broken.

    Answers what was found, as a sentence.
    """
    rests_on = {code for row in told["rows"] for code in _codes(row)}
    whole = _Whole(place, rests_on)
    for change in changes:
        whole.take(change)
    whole.ends()
    by_pseudonym = {row["pseudonym"]: row for row in told["rows"]}
    reached = whole.reached(told.get("groups", ()))
    missing = sorted(reached.keys() - by_pseudonym.keys())
    if everybody and missing:
        raise Broken(f"it leaves {missing[0]} out, to whom {sorted(reached[missing[0]])[0]} leads")
    for pseudonym, row in by_pseudonym.items():
        gifts = {path["facts"][-1] for path in (*row["paths"], *row["way"]) if path["facts"]}
        led = reached.get(pseudonym, set()) | whole.of_groups.get(pseudonym, set())
        if left := sorted(code for code in led - gifts if kind(code) in GIFTS):
            raise Broken(f"it leaves {left[0]} out, which led to {row['principal']}")
    many = len(whole.empty)
    empty = f"; {many} group{'s' * (many > 1)} had no members, as the site says" if many else ""
    who = "nobody else and of nothing else" if everybody else "nothing else about the people in it"
    return f"complete: the audit log knows of {who}{empty}"


def _codes(row: Mapping[str, Any]) -> Iterator[str]:
    for path in (*row["paths"], *row["way"]):
        yield from path["facts"]
    yield from row["member"]
    yield from row["holds"]


class _Whole:
    """The facts that held at the moment and can matter to the object, by all changes."""

    def __init__(self, place: Placement, rests_on: Collection[str]):
        self.place, self.facts, self.rests_on = place, place.facts, rests_on
        self.open: dict[str, Event] = {}
        self.empty: set[str] = set()
        self.of_groups: dict[str, set[str]] = defaultdict(set)

    def take(self, change: Mapping[str, Any]) -> None:
        past = change["revision"] <= self.facts.revision
        for event in change["events"]:
            code = event["data"].get("fact")
            if not code:
                continue
            if "state" not in event["data"]:
                revision = change["revision"]
                if past:
                    self.open.pop(code, None)
                elif code in self.rests_on and code not in self.facts.ended:
                    raise Broken(f"it leaves out that change {revision} ended {code}")
            elif past and self._matters(code, event["data"]["state"]):
                self.open[code] = event

    def ends(self) -> None:
        """Raises Broken for what had not begun, or had ended, by the record alone."""
        for code in sorted(self.rests_on):
            if code not in self.open:
                raise Broken(f"{code} did not hold, by the whole record")

    def reached(self, groups: Collection[str]) -> dict[str, set[str]]:
        """By pseudonym, what was given, or to whom the realm was open, however it led there."""
        reached: dict[str, set[str]] = defaultdict(set)
        members, holders, admitted = self._members(), self._holders(), self._admitted()
        unasked = self.place.enforced != "on"
        for code, event in self._live():
            if kind(code) in GIFTS:
                who = receiver(code, event["data"]["state"])
                people = holders[who[1]] if who[0] == ROLE else [(who[1], event["people"][0])]
            elif kind(code) == "realmmember" and unasked:
                people = [(event["data"]["state"]["principal_id"], event["people"][0])]
            else:
                continue
            for number, pseudonym in people:
                if number not in members and pseudonym not in groups:
                    reached[pseudonym].add(code)
                    continue
                self.of_groups[pseudonym].add(code)
                if number not in members:
                    self.empty.add(pseudonym)
                elif number in admitted or self.place.law.open_to_all:
                    for member in members[number]:
                        reached[member].add(code)
        return reached

    def _matters(self, code: str, state: Mapping[str, Any]) -> bool:
        if kind(code) in GIFTS:
            return self.place.tells(state)
        if kind(code) == "realmmember":
            return bool(state["realm_id"] == self.facts.realm)
        return kind(code) in ("membership", "assignment")

    def _live(self) -> Iterator[tuple[str, Event]]:
        return ((code, event) for code, event in self.open.items() if self.facts.within(event))

    def _members(self) -> dict[Any, list[str]]:
        members: dict[Any, list[str]] = defaultdict(list)
        for code, event in self._live():
            if kind(code) == "membership":
                members[event["data"]["state"]["group_id"]].append(event["people"][0])
        return members

    def _holders(self) -> dict[Any, list[tuple[Any, str]]]:
        holders: dict[Any, list[tuple[Any, str]]] = defaultdict(list)
        for code, event in self._live():
            if kind(code) == "assignment":
                state = event["data"]["state"]
                holders[state["role_id"]].append((state["holder_id"], event["people"][0]))
        return holders

    def _admitted(self) -> set[Any]:
        live = (event for code, event in self._live() if kind(code) == "realmmember")
        return {event["data"]["state"]["principal_id"] for event in live}
