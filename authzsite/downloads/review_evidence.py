"""The evidence of a review as an archive: tables for programs and spreadsheets, and a page to print."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from django.template.loader import render_to_string

from authzsite.downloads.csv_file import cell
from lakewarden.record import chain
from lakewarden.record.review import POPULATION, ROWS
from policies.models import Review
from policies.record.exports import signed_archives
from policies.reviews import completion, evidence
from policies.reviews.evidence import Evidence

FILES = """population.jsonl          every row there was at the start, as it was sealed before anybody decided
rows.jsonl, rows.csv      what was decided about each and why, what was done, when it was read again
changes.jsonl             what the record says of it, each change with its proof
checkpoints.txt           how far the record was signed
names.json                the names behind the pseudonyms, and how fast each reviewer decided
report.html               the same to read and to print
manifest.json, .sig       the digests of all files, signed
"""
LISTED = 1000
"""So many rows stand in the page to read; the tables have all."""


def write(target: IO[bytes], review: Review, *, name: str) -> Evidence:
    """Gather the evidence of a review and write the archive; its rows stream."""
    evidence_ = evidence.gather(review)
    with tempfile.TemporaryDirectory() as folder:
        paces = [
            {
                "reviewer": pace.reviewer.pseudonym,
                "decided": pace.decided,
                "seconds": pace.seconds,
                "quick": pace.quick,
                "kept": pace.kept,
                "together": pace.together,
            }
            for pace in evidence_.paces
        ]
        files: dict[str, bytes | Path] = {
            POPULATION: _lines(Path(folder) / POPULATION, evidence.population_lines(review)),
            ROWS: _lines(Path(folder) / ROWS, evidence.row_lines(review)),
            "rows.csv": _table(Path(folder) / "rows.csv", review),
            "changes.jsonl": _lines(
                Path(folder) / "changes",
                (chain.canonical(change).encode() + b"\n" for change in evidence_.changes),
            ),
            "checkpoints.txt": evidence_.checkpoint.note.encode(),
            "names.json": chain.canonical({"names": evidence_.names, "paces": paces}).encode(),
            "report.html": _report(evidence_).encode(),
            "README.txt": (signed_archives.CHECKED.format(name=name) + FILES).encode(),
        }
        signed_archives.write(
            target, "review", files, {"review": evidence_.about(), "population": evidence_.counts}
        )
    return evidence_


def _lines(path: Path, lines: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.writelines(lines)
    return path


def _table(path: Path, review: Review) -> Path:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        head: list[str] | None = None
        for row in evidence.rows(review):
            if head is None:
                head = list(row)
                table.writerow(head)
            table.writerow([cell(_plain(value)) for value in row.values()])
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return " ".join(f"{name}={part}" for name, part in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _report(evidence_: Evidence) -> str:
    listed = [row for row, _ in zip(evidence.rows(evidence_.review), range(LISTED), strict=False)]
    return render_to_string(
        "evidence/review.html",
        {
            "found": evidence_,
            "review": evidence_.review,
            "about": evidence_.about(),
            "rows": [{**row, "by": evidence_.names.get(row["decided_by"] or "", "")} for row in listed],
            "exceptions": completion.listed(evidence_.review, limit=LISTED),
            "limit": LISTED,
        },
    )
