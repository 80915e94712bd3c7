"""What a run is doing, read in the reader's language: with its run it is kept in English, as Spark says."""

from __future__ import annotations

from django.utils.formats import number_format

from policies.sentences import Reader, read_back, sentence

STEPS = (
    sentence("run.starting", "starting"),
    sentence("run.starting_spark", "starting Spark"),
    sentence("run.reading_facts", "reading the facts"),
    sentence("run.reading_snapshot", "reading the snapshot"),
    sentence("run.reading_record", "reading the audit log"),
    sentence("run.reading_rights", "reading the rights of {name}"),
    sentence("run.looking_at_grants", "reading what is granted"),
    sentence("run.asking_about", "asking about {number} objects"),
    sentence("run.working_out_reach", "calculating who has access to {number} objects"),
    sentence("run.working_out_rights", "calculating what should be there"),
    sentence("run.comparing", "comparing"),
    sentence("run.comparing_catalog", "comparing {name}"),
    sentence("run.adding_up", "adding up"),
    sentence("run.writing_archive", "writing what is beyond the retention"),
    sentence("run.removing_archived", "removing what is archived: up to revision {first} of {last}"),
    sentence("run.digests", "recomputing digests of {number} changes"),
    sentence("run.chain", "following the chain"),
    sentence("run.publishing", "publishing"),
)


def in_readers_language(step: str) -> str:
    """A step as it is kept; one whose wording is not known here stays in English."""
    readers: dict[str, Reader] = dict.fromkeys(("number", "first", "last"), _number)
    return str(read_back(step, STEPS, readers) or step)


def _number(text: str) -> str | None:
    """1,204 as it is written in the language that is spoken now."""
    digits = text.replace(",", "")
    return number_format(int(digits), use_l10n=True, force_grouping=True) if digits.isdecimal() else None
