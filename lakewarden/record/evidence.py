"""Evidence about one object, checked without the site: who could do what to it, by which facts, until when.

Every change in it is in the signed tree; every row rests on facts that the changes began and had not ended.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from lakewarden.record import notes
from lakewarden.record.bundle import Broken, Found, proved

LINKS = {
    "membership": ("member_id", "group_id"),
    "assignment": ("holder_id", "role_id"),
    "realmmember": ("principal_id", "principal_id"),
}
"""Kinds of facts that tie a person to what is given, with what each leads from and to."""


def check(
    archive: zipfile.ZipFile, head: notes.Checkpoint, manifest: Mapping[str, Any], person: str = ""
) -> Found:
    """Check evidence about an object and tell of everybody, or of one `person`.  Raises Broken."""
    question = manifest["question"]
    facts = Facts(question["revision"], _moment(question["as_of"]))
    for change in proved(archive, head):
        facts.take(change)
    told = json.loads(archive.read("access.json"))
    facts.names = told.get("names", {})
    _drawn(told, question)
    rows = [row for row in told["rows"] if person in ("", row["principal"])]
    if not rows:
        raise Broken(f"the evidence says nothing about {person}")
    where = f"{question['object']['type']} {question['object']['id']}"
    when = f"{question['as_of']} (revision {question['revision']})"
    found = Found([f"proved: {where} as of {when}, record signed up to {head.size}"])
    mode = told.get("mode") or {"mode": "on"}
    if mode.get("fact"):
        facts.enforced(mode["fact"], mode["mode"])
    elif mode["mode"] != "on":
        raise Broken(f"nothing in it shows that authorization was {mode['mode']}")
    if mode["mode"] != "on":
        found.lines.append(
            f"authorization was {mode['mode']}: every member could, what its rules decide else"
        )
    for row in rows:
        found.lines += _told(row, told["objects"], facts)
    return found


def lot(seed: str, pseudonym: str) -> str:
    """The lot of a person under a seed: anybody can draw the same sample again."""
    return hashlib.sha256(f"{seed}\n{pseudonym}".encode()).hexdigest()


def _drawn(told: Mapping[str, Any], question: Mapping[str, Any]) -> None:
    """Raises Broken unless a sample is the one that its seed draws."""
    everybody = told.get("drawn_from")
    if not everybody:
        return
    drawn = sorted(everybody, key=lambda one: lot(question["seed"], one))[: question["sample"]]
    if sorted(drawn) != sorted(row["pseudonym"] for row in told["rows"]):
        raise Broken(f"these are not the {question['sample']} people that the seed draws")


class Facts:
    """When each fact began and ended and what it stated, by the changes alone.

    `names` are what the site calls people, by pseudonym: no part of the record, so the site answers for them.
    """

    def __init__(self, revision: int, moment: datetime):
        self.revision, self.moment = revision, moment
        self.names: Mapping[str, str] = {}
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

    def carry(self, path: Mapping[str, Any], pseudonym: str) -> None:
        """Raises Broken unless the facts held at the revision, lead to the person and give what is said."""
        self.lead(path["facts"], pseudonym)
        last = path["facts"][-1]
        if _given(self.state(last)) != (path["privilege"], path["allow"], path["object"]):
            raise Broken(f"{last} does not give {path['privilege']} there")

    def lead(self, codes: Sequence[str], pseudonym: str) -> None:
        """Raises Broken unless the facts held and each goes on from the one before, first from the person."""
        for code in codes:
            self._held(code)
        links = [code for code in codes if _kind(code) in LINKS]
        if not links:
            return
        if pseudonym not in self.stated[links[0]]["people"]:
            raise Broken(f"{links[0]} does not speak of {pseudonym}")
        at = self._ends(links[0])[0]
        for before, code in zip([links[0], *links], links):
            start, end = self._ends(code)
            if start != at and (_kind(code), start, end) != (_kind(before), *self._ends(before)):
                raise Broken(f"{code} does not go on from {before}")
            at = end
        if codes[-1] != links[-1] and not self._reaches(codes[-1], _kind(links[-1]), at):
            raise Broken(f"{codes[-1]} does not go on from {links[-1]}")

    def state(self, code: str) -> Mapping[str, Any]:
        """All that a fact states."""
        found: Mapping[str, Any] = self.stated[code]["data"]["state"]
        return found

    def _ends(self, code: str) -> tuple[Any, Any]:
        """From whom a link leads to what, by their numbers."""
        start, end = LINKS[_kind(code)]
        return self.state(code)[start], self.state(code)[end]

    def _reaches(self, code: str, kind: str, at: int) -> bool:
        """Whether what a fact gives is given to whom or what the last link led to."""
        given = self.state(code)
        if kind == "assignment":
            return bool(given.get("role_id") == at)
        # a right on a text may be given to a name that the person bears in another case
        return at in (given.get("holder_id"), given.get("owner_id")) or bool(given.get("pattern"))

    def enforced(self, code: str, mode: str) -> None:
        """Raises Broken unless the realm's law was enforced in that way at the revision."""
        self._held(code)
        if self.state(code)["mode"] != mode:
            raise Broken(f"{code} does not say that authorization was {mode}")

    def _held(self, code: str) -> None:
        begun, ended = self.begun.get(code), self.ended.get(code)
        if begun is None or begun["revision"] > self.revision:
            raise Broken(f"{code} had not begun at revision {self.revision}")
        if ended is not None and ended["revision"] <= self.revision:
            raise Broken(f"{code} had ended at revision {self.revision}")
        since, until = (self._window(code, edge) for edge in ("valid_from", "valid_until"))
        if (since and since > self.moment) or (until and until <= self.moment):
            raise Broken(f"{code} did not hold at {self.moment.isoformat()}: it says from when until when")

    def _window(self, code: str, edge: str) -> datetime | None:
        told = self.state(code).get(edge)
        return _moment(told) if told else None

    def span(self, codes: list[str]) -> str:
        """Since when all of them held, and until when, in words."""
        begun = max((self.begun[code] for code in codes), key=lambda change: change["revision"])
        text = f"since {self._change(begun)}"
        ends = [self.ended[code] for code in codes if code in self.ended]
        end = min(ends, key=lambda change: change["revision"], default=None)
        window = min(filter(None, (self._window(code, "valid_until") for code in codes)), default=None)
        if window and (end is None or window <= _moment(end["at"])):
            return f"{text}, given until {window.isoformat()} and no longer"
        if end is None:
            return f"{text}, and it had not ended when the record was signed"
        return f"{text}, ended by {self._change(end)}"

    def _change(self, change: Mapping[str, Any]) -> str:
        who = self.names.get(change["actor"], change["actor"])
        because = f": {change['reason']}" if change["reason"] else ""
        return f"change {change['revision']} ({change['at']}, by {who}{because})"


def _kind(code: str) -> str:
    return code.partition(":")[0]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _given(state: Mapping[str, Any]) -> tuple[str, bool, Any]:
    """The privilege, whether it is allowed, and on what: as a grant or an ownership states them."""
    if "privilege" not in state:
        return "OWNER", True, state["securable_id"]
    on = state["securable_id"] if state["securable_id"] is not None else state["pattern"]
    return state["privilege"], state["effect"] == "allow", on


def _told(row: Mapping[str, Any], objects: Mapping[str, Mapping[str, str]], facts: Facts) -> Iterator[str]:
    can = ", ".join(row["actions"]) or "nothing"
    yield f"{row['principal']} could do: {can}"
    if row.get("member"):
        facts.lead(row["member"], row["pseudonym"])
        yield f"  was a member: {facts.span(row['member'])}"
    for path in row["paths"]:
        facts.carry(path, row["pseudonym"])
        place = objects.get(str(path["object"]), {"id": "an object"})["id"]
        via = f" via {', '.join(path['via'])}" if path["via"] else ""
        verb = "held" if path["allow"] else "was denied"
        yield f"  {verb} {path['privilege']} on {place}{via}: {facts.span(path['facts'])}"
