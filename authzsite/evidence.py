"""Evidence as an archive: tables for programs and spreadsheets, and a page to read and print."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, Any

from django.template.loader import render_to_string
from django.utils import timezone

from accounts.models import Principal
from authzsite.sheet import cell
from lakewarden.record import chain
from policies.exports import archives, evidence
from policies.exports.evidence import Evidence, Question
from policies.history import Names
from policies.models import Backend, BackendFinding, Change

FILES = """access.json, access.csv   who had access, by which facts
changes.jsonl             what began and ended them, each with its proof
checkpoints.txt           how far the record was signed
applied.json              what each backend was given, and when
report.html               the same to read and to print
manifest.json, .sig       the digests of all files, signed
"""


def write(target: IO[bytes], question: Question, *, name: str) -> Evidence:
    """Answer the question and write the archive."""
    found = evidence.gather(question)
    objects = evidence.objects_named(found)
    files = {
        "access.json": chain.canonical(
            {"rows": found.rows, "objects": objects, "names": _names(found)}
        ).encode(),
        "access.csv": _table(found, objects).encode(),
        "changes.jsonl": b"".join(chain.canonical(change).encode() + b"\n" for change in found.changes),
        "checkpoints.txt": found.checkpoint.note.encode(),
        "applied.json": json.dumps(_applied(question), indent=1).encode(),
        "report.html": _report(found, objects).encode(),
        "README.txt": (archives.CHECKED.format(name=name) + FILES).encode(),
    }
    archives.write(
        target, "evidence", files, {"question": _question(found), "population": _population(found)}
    )
    return found


def _names(found: Evidence) -> dict[str, str]:
    """What those who made the changes are called; who was erased is not among them."""
    actors = {entry["change"]["actor"] for entry in found.changes}
    return {row.pseudonym: str(row) for row in Principal.objects.filter(pseudonym__in=actors)}


def _question(found: Evidence) -> dict[str, Any]:
    asked = found.question
    return {
        "object": {"type": asked.node.type, "id": asked.node.ref.id},
        "as_of": asked.past.moment.isoformat(),
        "revision": asked.past.revision,
        "person": str(asked.person) if asked.person else None,
        "sample": asked.sample,
        "seed": asked.seed,
        "made": timezone.now().isoformat(),
    }


def _population(found: Evidence) -> dict[str, Any]:
    return {**found.population, "query": found.query}


def _table(found: Evidence, objects: dict[str, dict[str, str]]) -> str:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(
        ("principal", "name", "actions", "privilege", "allowed", "object", "via", "from", "until", "facts")
    )
    for row in found.rows:
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


def _applied(question: Question) -> dict[str, Any]:
    """What the backends that hold the object were proved to have, as it is now."""
    backends = Backend.objects.filter(catalog__in=question.node.lineage)
    return {
        "backends": [
            {
                "kind": row.kind,
                "state": row.state,
                "proved_at": row.proved_at.isoformat() if row.proved_at else None,
                "proved_revision": row.proved_revision,
                "counts": row.counts,
            }
            for row in backends
        ],
        "findings": list(
            BackendFinding.objects.filter(backend__in=backends, securable=question.node.id).values(
                "kind", "place", "holder", "what"
            )
        ),
    }


def _report(found: Evidence, objects: dict[str, dict[str, str]]) -> str:
    changes = [entry["change"] for entry in found.changes]
    names = Names([Change(actor=one["actor"], on_behalf_of=one["on_behalf_of"]) for one in changes], [])
    told = [{**one, "actor_name": names.of(one["actor"])} for one in changes]
    return render_to_string(
        "evidence/report.html",
        {"found": found, "asked": _question(found), "objects": objects, "changes": told},
    )
