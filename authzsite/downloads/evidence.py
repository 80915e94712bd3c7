"""Evidence as an archive: tables for programs and spreadsheets, and a page to read and print."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import IO, Any

from django.template.loader import render_to_string
from django.utils import timezone

from accounts.models import Principal
from authzsite.downloads.csv_file import cell
from lakewarden.backends import kinds
from lakewarden.law.facts import OWNER
from lakewarden.record import chain
from policies.models import Change, Event
from policies.record.exports import applied, evidence, signed_archives
from policies.record.exports.evidence import Evidence, Question
from policies.record.history import Names, privilege_label

FILES = """access.json, access.csv   who had access, by which facts
changes.jsonl             what began and ended them, each with its proof
checkpoints.txt           how far the record was signed
applied.json              what each backend was given by then, since then, and its state at making
report.html               the same to read and to print
manifest.json, .sig       the digests of all files, signed
"""
SHOWN = 200
"""So many steps of a backend stand in the page to read; the table has more."""
WINDOW = (("from", "valid_from"), ("until", "valid_until"))


def write(target: IO[bytes], question: Question, *, name: str) -> Evidence:
    """Answer the question and write the archive."""
    made = timezone.now()
    evidence_ = evidence.gather(question)
    given = applied.backend_states(question.node, question.past, made)
    question_body = _question(question, made)
    objects = evidence.objects_named(evidence_)
    # what those who made the changes are called; who was erased is not among them
    actors = {entry["change"]["actor"] for entry in evidence_.changes}
    names = {row.pseudonym: str(row) for row in Principal.objects.filter(pseudonym__in=actors)}
    access = {
        "rows": evidence_.rows,
        "objects": objects,
        "names": names,
        "mode": evidence_.mode,
        "place": evidence_.place,
        "drawn_from": evidence_.drawn_from,
        "groups": evidence_.groups,
    }
    files = {
        "access.json": chain.canonical(access).encode(),
        "access.csv": _table(evidence_, objects).encode(),
        "changes.jsonl": b"".join(chain.canonical(change).encode() + b"\n" for change in evidence_.changes),
        "checkpoints.txt": evidence_.checkpoint.note.encode(),
        "applied.json": json.dumps(given, indent=1).encode(),
        "report.html": _report(evidence_, objects, question_body, given).encode(),
        "README.txt": (signed_archives.CHECKED.format(name=name) + FILES).encode(),
    }
    signed_archives.write(
        target, "evidence", files, {"question": question_body, "population": _population(evidence_)}
    )
    return evidence_


def _question(question: Question, made: datetime) -> dict[str, Any]:
    return {
        "object": {"type": question.node.type, "id": question.node.ref.id},
        "as_of": question.past.moment.isoformat(),
        "revision": question.past.revision,
        "law": question.node.kind,
        "person": str(question.person) if question.person else None,
        "sample": question.sample,
        "seed": question.seed,
        "made": made.isoformat(),
    }


def _population(evidence_: Evidence) -> dict[str, Any]:
    return {**evidence_.population, "query": evidence_.query}


def _table(evidence_: Evidence, objects: dict[str, dict[str, str]]) -> str:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(
        ("principal", "name", "actions", "privilege", "allowed", "object", "via", "from", "until", "facts")
    )
    for row in evidence_.rows:
        for path in row["paths"] or [
            dict.fromkeys(("privilege", "allow", "object", "valid_from", "valid_until"))
        ]:
            place = objects.get(str(path["object"]), {}).get("id", "")
            values = (
                row["principal"], row["name"], " ".join(row["actions"]), path["privilege"], path["allow"],
                place, " › ".join(path.get("via", ())), path["valid_from"], path["valid_until"],
                " ".join(path.get("facts", ())),
            )  # fmt: skip
            table.writerow([cell(value) for value in values])
    return text.getvalue()


def _report(
    evidence_: Evidence, objects: dict[str, dict[str, str]], question: dict[str, Any], given: dict[str, Any]
) -> str:
    context = {
        "found": evidence_,
        "asked": {**question, "as_of": when(question["as_of"]), "made": when(question["made"])},
        "rows": [{**row, "paths": [_way(path, objects) for path in row["paths"]]} for row in evidence_.rows],
        "changes": _change_sentences(evidence_),
        "given": [_given(item) for item in given["backends"]],
        "kept": when(given["steps_kept_since"]),
    }
    return render_to_string("evidence/report.html", context)


def when(text: str | None) -> str:
    """2026-01-31 23:59:59 UTC: an ISO 8601 text as people read it."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S %Z}" if text else ""


def _way(path: dict[str, Any], objects: dict[str, dict[str, str]]) -> dict[str, Any]:
    label = "Everything, as owner," if path["privilege"] == OWNER else privilege_label(path["privilege"])
    place = objects.get(str(path["object"]), {}).get("id", path["object"])
    window = [f"{word} {when(path[edge])}" for word, edge in WINDOW if path[edge]]
    return {**path, "label": label, "place": place, "window": ", ".join(window)}


def _change_sentences(evidence_: Evidence) -> list[dict[str, Any]]:
    """The changes in sentences: of each what it says of the facts that rows rest on."""
    codes = evidence_.codes
    changes = [entry["change"] for entry in evidence_.changes]
    events = {
        change["revision"]: [
            Event(**event) for event in change["events"] if event["data"].get("fact") in codes
        ]
        for change in changes
    }
    actors = [Change(actor=change["actor"], on_behalf_of=change["on_behalf_of"]) for change in changes]
    names = Names(actors, [event for some in events.values() for event in some])
    return [
        {
            "revision": change["revision"],
            "when": when(change["at"]),
            "who": names.of(change["actor"]),
            "for": names.of(change["on_behalf_of"]),
            "reason": change["reason"],
            "lines": [(names.line(event).text, event.data["fact"]) for event in events[change["revision"]]],
        }
        for change in changes
        if events[change["revision"]]
    ]


def _given(backend: dict[str, Any]) -> dict[str, Any]:
    """What a backend was given, in words and rows."""
    by_then, reached, now = backend["by_then"]["proved"], backend["reached"], backend["at_making"]
    steps = [
        *backend["by_then"]["steps"],
        *({**item, "later": True} for item in backend["since_then"]["steps"]),
    ]
    return {
        "name": kinds.label(backend["kind"]),
        "since": when(backend["runs_since"]),
        "by_then": {**by_then, "at": when(by_then["at"])} if by_then else None,
        "reached": {**reached, "at": when(reached["at"])} if reached else None,
        "now": {**now, "proved_at": when(now["proved_at"])},
        "steps": [{**step, "at": when(step["at"]), "what": _step(step)} for step in steps[-SHOWN:]],
        "more": max(0, len(steps) - SHOWN),
    }


def _step(step: dict[str, Any]) -> str:
    """give SELECT, of 3 rights in all"""
    rights = ", ".join(right for _, _, right in step["rights"]) or "what is not kept one by one"
    return f"{step['step'].replace('_', ' ')} {rights}, of {step['of']} rights in all"
