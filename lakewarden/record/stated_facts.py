"""What proved changes say of facts: when each began and ended, what it stated, and to whom it leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from lakewarden.record.archive import Broken

PERSON, ROLE = "principal", "role"
LINKS = {
    "membership": ((PERSON, "member_id"), (PERSON, "group_id")),
    "assignment": ((PERSON, "holder_id"), (ROLE, "role_id")),
    "realmmember": ((PERSON, "principal_id"), (PERSON, "principal_id")),
}
"""Kinds of facts that tie a person to what is given, with what each leads from and to; people and roles are
numbered apart."""
GIFTS = {"grant": "holder_id", "ownership": "owner_id"}
"""Kinds of facts that give something, with where each names to whom, unless that is a role."""
SLACK = timedelta(seconds=1)
"""A site's clock may have been set back by so much between two changes."""
Station = tuple[str, Any]


class Facts:
    """The facts that changes speak of, and whether they held at a revision and a moment.

    `names` are what the site calls people, by pseudonym: no part of the record, so the site answers for them.
    `realm` is the number of the realm asked about, once that is known.
    """

    def __init__(self, revision: int, moment: datetime):
        self.revision, self.moment = revision, moment
        self.names: Mapping[str, str] = {}
        self.realm: Any = None
        self.begun: dict[str, Mapping[str, Any]] = {}
        self.ended: dict[str, Mapping[str, Any]] = {}
        self.stated: dict[str, Mapping[str, Any]] = {}

    def take(self, change: Mapping[str, Any]) -> None:
        for event in change["events"]:
            code = event["data"].get("fact")
            if code and "state" in event["data"]:
                self.begun[code], self.stated[code] = change, event
            elif code:
                self.ended[code] = change

    def state(self, code: str) -> Mapping[str, Any]:
        """All that a fact states."""
        state: Mapping[str, Any] = self.stated[code]["data"]["state"]
        return state

    def led(self, codes: Sequence[str], pseudonym: str) -> Station | None:
        """To whom or what the links lead from the person; None when there are none.

        Raises Broken unless each of them held and goes on from the one before, the first from the person.
        """
        at: Station | None = None
        before: tuple[Station, Station] | None = None
        for code in codes:
            self.held(code)
            if kind(code) not in LINKS:
                raise Broken(f"{code} leads to nothing else")
            # from whom a link leads to whom or what
            state = self.state(code)
            if state.get("realm_id", self.realm) != self.realm:
                raise Broken(f"{code} is about another realm")
            (start, start_field), (end, other) = LINKS[kind(code)]
            ends = (start, state[start_field]), (end, state[other])
            if at is None:
                self._speaks_of(code, pseudonym)
            elif ends[0] != at and ends != before:
                raise Broken(f"{code} does not go on from what is before it")
            before, at = ends, ends[1]
        return at

    def carry(self, codes: Sequence[str], pseudonym: str) -> Mapping[str, Any]:
        """What the last of the facts states, to whom the others lead the person.  Raises Broken."""
        *way, last = codes
        self.held(last)
        at, given = self.led(way, pseudonym), self.state(last)
        if kind(last) not in GIFTS:
            raise Broken(f"{last} gives nothing")
        if at is None:
            if receiver(last, self.state(last))[0] == ROLE:
                raise Broken(f"{last} gives to a role, and nothing leads {pseudonym} to it")
            self._speaks_of(last, pseudonym)
        elif at != receiver(last, given):
            raise Broken(f"{last} does not go on from {way[-1]}")
        return given

    def held(self, code: str) -> None:
        """Raises Broken unless the fact held, by its revisions, by the clock and by its own window."""
        begun, ended = self.begun.get(code), self.ended.get(code)
        if begun is None or begun["revision"] > self.revision:
            raise Broken(f"{code} had not begun at revision {self.revision}")
        if ended is not None and ended["revision"] <= self.revision:
            raise Broken(f"{code} had ended at revision {self.revision}")
        if moment_of(begun["at"]) > self.moment + SLACK:
            raise Broken(f"{code} had not begun at {self.moment.isoformat()}")
        if ended is not None and moment_of(ended["at"]) < self.moment - SLACK:
            raise Broken(f"{code} had ended at {self.moment.isoformat()}")
        if not self.within(self.stated[code]):
            raise Broken(f"{code} did not hold at {self.moment.isoformat()}: it says from when until when")

    def within(self, event: Mapping[str, Any]) -> bool:
        """Whether the moment lies in the window of what an event began."""
        since, until = (_edge(event["data"]["state"], edge) for edge in ("valid_from", "valid_until"))
        return (since is None or since <= self.moment) and (until is None or until > self.moment)

    def span(self, codes: Sequence[str]) -> str:
        """Since when all of them held, and until when, in words."""
        begun = max((self.begun[code] for code in codes), key=lambda change: change["revision"])
        text = f"since {self._change(begun)}"
        ends = [self.ended[code] for code in codes if code in self.ended]
        end = min(ends, key=lambda change: change["revision"], default=None)
        window = min(filter(None, (_edge(self.state(code), "valid_until") for code in codes)), default=None)
        if window and (end is None or window <= moment_of(end["at"])):
            return f"{text}, given until {window.isoformat()} and no longer"
        if end is None:
            return f"{text}, and it had not ended when the record was signed"
        return f"{text}, ended by {self._change(end)}"

    def _speaks_of(self, code: str, pseudonym: str) -> None:
        """The first whom an event names is who joined, holds or owns."""
        if self.stated[code]["people"][:1] != [pseudonym]:
            raise Broken(f"{code} does not speak of {pseudonym}")

    def _change(self, change: Mapping[str, Any]) -> str:
        who = self.names.get(change["actor"], change["actor"])
        because = f": {change['reason']}" if change["reason"] else ""
        return f"change {change['revision']} ({change['at']}, by {who}{because})"


def receiver(code: str, state: Mapping[str, Any]) -> Station:
    """To whom or what something is given."""
    person = state.get(GIFTS[kind(code)])
    return (PERSON, person) if person is not None else (ROLE, state.get("role_id"))


def _edge(state: Mapping[str, Any], name: str) -> datetime | None:
    value = state.get(name)
    return moment_of(value) if value else None


def kind(code: str) -> str:
    return code.partition(":")[0]


def moment_of(text: str) -> datetime:
    return datetime.fromisoformat(text)
