"""`manage.py evidence`"""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from authzsite.downloads import evidence
from authzsite.management.base import OperatorCommand, known
from catalog.past import find_at
from lakewarden.law.objects import ObjectRef
from policies.errors import PolicyError
from policies.record.exports.evidence import Question
from policies.record.revisions import at_moment, moment_in


class Command(OperatorCommand):
    help = "Export who had access to an object on a day, as a signed archive that anyone can check."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("object", metavar="TYPE:REALM[/full.name]", help="table:demo/shop.sales.orders")
        parser.add_argument(
            "--as-of", metavar="TIME", type=moment, help="ISO 8601; a day means its end in UTC; default: now"
        )
        parser.add_argument("--person", metavar="user:NAME", help="only this person")
        parser.add_argument("--sample", metavar="N", type=int, help="a random sample of N people")
        parser.add_argument("--seed", default="", help="the same seed draws the same people")
        parser.add_argument("--out", metavar="FILE", type=Path, default=Path("evidence.zip"))

    def run(
        self, *, object: str, as_of: datetime | None, person: str | None, out: Path, **options: Any
    ) -> None:
        past = at_moment(as_of or timezone.now())
        type, _, name = object.partition(":")
        node = find_at(ObjectRef.parse(type, name), past.revision)
        if node is None:
            raise PolicyError(f"there was no {type} {name} at {past.moment.isoformat()}")
        somebody = known(person) if person else None
        question = Question(node, past, somebody, options["sample"], options["seed"])
        try:
            with out.open("wb") as file:
                evidence_ = evidence.write(file, question, name=out.name)
        except OSError as error:
            self.fail(f"{out}: {error.strerror}")
        self.stdout.write(
            f"{out}: {evidence_.population['listed']} people, {len(evidence_.changes)} changes proved"
        )


def moment(text: str) -> datetime:
    """A time with a zone, or UTC; a day means all of it."""
    moment_ = moment_in(text, whole=True)
    if moment_ is None:
        raise ArgumentTypeError(f"{text!r} is not a time; write 2026-01-31 or 2026-01-31T12:00:00Z")
    return moment_
