"""`manage.py review`"""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandParser
from django.utils import timezone

from authzsite.downloads import review_evidence
from authzsite.management.base import OperatorCommand, realm_root
from policies.errors import NotFound
from policies.models import Review
from policies.reviews import worklist


class Command(OperatorCommand):
    help = "List the access reviews of a realm, or export the evidence of one for auditors."

    def add_arguments(self, parser: CommandParser) -> None:
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="list|evidence")
        listing = deeds.add_parser("list", help="one line per review, newest first")
        listing.add_argument("realm", metavar="REALM")
        proof = deeds.add_parser("evidence", help="population, decisions and proof, signed")
        proof.add_argument("review", metavar="NUMBER", type=int)
        proof.add_argument("--out", metavar="FILE", type=Path, default=Path("review.zip"))

    def run(self, *, deed: str, **options: object) -> None:
        if deed == "list":
            self._list(str(options["realm"]))
        else:
            self._evidence(int(str(options["review"])), Path(str(options["out"])))

    def _list(self, realm: str) -> None:
        rows = Review.objects.filter(realm=realm_root(realm).realm_id).order_by("-pk")
        for review in rows:
            counts = worklist.counts(review)
            due = timezone.localtime(review.due).date().isoformat()
            summary = f"{counts['all']} rows, {counts['open']} open, {counts['state_proved']} proved"
            self.stdout.write(f"{review.pk}  {review.state}  due {due}  {summary}  {review.title}")

    def _evidence(self, number: int, out: Path) -> None:
        review = Review.objects.filter(pk=number).first()
        if review is None:
            raise NotFound(f"there is no review {number}")
        try:
            with out.open("wb") as file:
                evidence = review_evidence.write(file, review, name=out.name)
        except OSError as error:
            self.fail(f"{out}: {error.strerror}")
        self.stdout.write(
            f"{out}: {review.counts.get('rows', 0)} rows, {len(evidence.changes)} changes proved"
        )
