"""The evidence of an access review, checked without the site.

The population is the one that was sealed when the review was opened; each row says what the record says was
decided; what is said to be removed ended in the change named, and was read again after it.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from lakewarden.record import notes
from lakewarden.record.archive import Broken, ProvedStatements, proved

POPULATION, ROWS = "population.jsonl", "rows.jsonl"
REMOVING = ("remove", "reduce", "end")


class ReviewRecord:
    """What the proved changes say of one review."""

    def __init__(self, review: int) -> None:
        self.review = review
        self.sealed: Mapping[str, Any] = {}
        self.decided: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self.carried: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self.read: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self.ended: dict[int, set[str]] = {}

    def take(self, change: Mapping[str, Any]) -> None:
        for event in change["events"]:
            data = event["data"]
            if "fact" in data and "state" not in data:
                self.ended.setdefault(change["revision"], set()).add(data["fact"])
            if data.get("review") == self.review:
                kind = event["kind"]
                if kind == "review.opened":
                    self.sealed = data
                elif kind == "review.decided":
                    self.decided[data["row"]] = (change, data)
                elif kind == "review.taken_back":
                    self.decided.pop(data["row"], None)
                elif kind == "review.carried":
                    self.carried[data["row"]] = (change, data)
                elif kind == "review.proved":
                    self.read.update(dict.fromkeys(data["numbers"], (change, data)))


def check(
    archive: zipfile.ZipFile, head: notes.Checkpoint, manifest: Mapping[str, Any], person: str = ""
) -> ProvedStatements:
    """Check the evidence of a review and tell of every removal, or of one `person`'s.  Raises Broken."""
    about = manifest["review"]
    log = ReviewRecord(about["id"])
    for change in proved(archive, head):
        log.take(change)
    _sealed(archive, log, about)
    with archive.open(ROWS) as lines:
        rows = [json.loads(line) for line in lines]
    population = _population(archive)
    if [row["number"] for row in rows] != sorted(population):
        raise Broken("the rows are not those of the population")
    removed = [row for row in rows if row["state"] in ("carried", "proved")]
    statements = ProvedStatements(
        [
            f"proved: review {about['title']} of {about['realm']}, record signed up to {head.size}",
            f"population: {len(rows)} rows as of revision {log.sealed['as_of']}, sealed when it was opened",
        ]
    )
    for row in rows:
        _as_frozen(row, population[row["number"]])
        _as_decided(row, log)
        _as_carried(row, log, population[row["number"]]["facts"])
    named = [row for row in removed if person in ("", row["holder"])]
    if person and not any(row["holder"] == person for row in rows):
        raise Broken(f"the review says nothing about {person}")
    statements.lines += [line for row in named for line in _lines(row, log)]
    return statements


def _sealed(archive: zipfile.ZipFile, record: ReviewRecord, about: Mapping[str, Any]) -> None:
    if not record.sealed:
        raise Broken(f"nothing proves that review {about['id']} was opened")
    digest = hashlib.sha256()
    with archive.open(POPULATION) as file:
        for line in file:
            digest.update(line)
    if digest.hexdigest() != record.sealed["digest"]:
        raise Broken("the population is not the one that was sealed when the review was opened")


def _population(archive: zipfile.ZipFile) -> dict[int, Mapping[str, Any]]:
    """Each row by its number, as it was sealed."""
    with archive.open(POPULATION) as lines:
        return {row["number"]: row for row in map(json.loads, lines)}


FROZEN = {
    "kind": "kind",
    "pseudonym": "who",
    "role": "role_name",
    "object": "what",
    "privileges": "privileges",
    "effect": "effect",
}
"""What a row tells again of its line of the population, and what it is called there."""


def _as_frozen(row: Mapping[str, Any], frozen: Mapping[str, Any]) -> None:
    """Raises Broken unless a row is about whom and what was sealed; what people are called, the site says."""
    for name, sealed in FROZEN.items():
        if (row[name] or "") != (frozen[sealed] or ""):
            raise Broken(f"row {row['number']}: its {name} is not that of the population")
    gives = f"{', '.join(frozen['privileges'])} on {frozen['what']}"
    if frozen["kind"] == "role":
        gives = f"role {frozen['role_name']}"
    elif frozen["of_group"] is not None:
        gives = f"a place in group {row['group'].partition(':')[2]}"
    elif frozen["kind"] == "owner":
        gives = f"the ownership of {frozen['what']}"
    if row["gives"] != gives:
        raise Broken(f"row {row['number']} does not give what it says")


def _as_decided(row: Mapping[str, Any], record: ReviewRecord) -> None:
    """Raises Broken unless the record says the same of the last decision."""
    number = row["number"]
    change, data = record.decided.get(number, ({}, {}))
    if row["default"] or not row["choice"]:
        if data and data["choice"] != "unsure":
            raise Broken(f"row {number} was decided, though it is said that it was not")
        return
    same = (data.get("choice"), data.get("takes"), data.get("until"), data.get("reason"))
    if same != (row["choice"], row["takes"], row["until"], row["reason"]):
        raise Broken(f"the record does not say that row {number} was decided so")
    if change["actor"] != row["decided_by"]:
        raise Broken(f"row {number} was decided by another person")
    if change["at"] != row["decided_at"]:
        raise Broken(f"row {number} was decided at another moment")


def _as_carried(row: Mapping[str, Any], record: ReviewRecord, facts: list[str]) -> None:
    """Raises Broken unless what is said to have gone ended then, and was read again after it."""
    number, state = row["number"], row["state"]
    if state not in ("carried", "proved"):
        if number in record.carried:
            raise Broken(f"row {number} was carried out, though it is said that it was not")
        return
    change, data = record.carried.get(number, ({}, {}))
    if change.get("revision") != row["carried_revision"] or row["choice"] not in REMOVING:
        raise Broken(f"the record does not say that row {number} was carried out")
    ended = record.ended.get(change["revision"], set())
    missing = [code for code in data["facts"] if not code.startswith("finding:") and code not in ended]
    if row["choice"] != "end" and missing:
        raise Broken(f"{missing[0]} did not end in change {change['revision']}")
    if not set(data["facts"]) <= set(facts):
        raise Broken(f"row {number} ended something that was not in the population")
    read = record.read.get(number)
    if state == "proved" and (read is None or read[1]["read"] < change["revision"]):
        raise Broken(f"nothing proves that row {number} was read again after it was carried out")


def _lines(row: Mapping[str, Any], record: ReviewRecord) -> Iterator[str]:
    change, _ = record.carried[row["number"]]
    who = row["holder"] or f"role {row['role']}"
    takes = ", ".join(row["takes"])
    deed = {"remove": "lost", "reduce": f"lost {takes} of", "end": f"keeps until {row['until']}"}
    yield f"row {row['number']}: {who} {deed[row['choice']]} {row['gives']}"
    by = "by silence" if row["default"] else f"by {row['decided_by']} at {row['decided_at']}"
    why = f": {row['reason']}" if row["reason"] else ""
    yield f"  decided {by}{why}; carried out by change {change['revision']} at {change['at']}"
    read = record.read.get(row["number"])
    if read is None:
        yield "  not yet read again"
        return
    proof, data = read
    moment = f"by change {proof['revision']} at {proof['at']}"
    yield f"  {data['backend']} was read at revision {data['read']} without it, {moment}"
