"""What of a realm's history was moved out of the live tables, and how far that is."""

from __future__ import annotations

from django.db import models

from catalog.models import Realm
from policies.models.states import Move, States

ARCHIVES = States(
    "archive",
    "written",
    {"written": "written", "recorded": "recorded", "removed": "removed from the live tables"},
    (
        Move("record", ("written",), "recorded", "Read again and verified; its digests stand in the chain."),
        Move("remove", ("recorded",), "removed", "What it holds is gone from the live tables."),
    ),
)


class Archive(models.Model):
    """The events of a realm's changes after revision `first` up to `upto`, and the facts that ended by then.

    `folder` lies below the site's own; `digest` is that of its manifest, which holds those of its files.
    `removed` is the revision up to which its events are gone from the live tables; `recorded` the change in
    which its digest stands.
    """

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="archives")
    first = models.BigIntegerField()
    upto = models.BigIntegerField()
    state = models.CharField(max_length=8, choices=ARCHIVES.choices, default=ARCHIVES.initial)
    folder = models.TextField()
    digest = models.CharField(max_length=64)
    events = models.BigIntegerField()
    facts = models.BigIntegerField()
    at = models.DateTimeField()
    recorded = models.BigIntegerField(null=True)
    removed = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["realm", "first"], name="one_archive_a_beginning")]

    def __str__(self) -> str:
        return f"realm {self.realm_id} up to {self.upto}"
