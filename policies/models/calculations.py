"""What changes would do to people, where it is so much that a worker works it out."""

from __future__ import annotations

from django.db import models

from accounts.models import Principal
from catalog.models import Realm


class Calculation(models.Model):
    """The effect of some changes in a realm, as it is at one revision; asked for twice it is one.

    `by` is who asked.  `sight` is what they may see of others: empty for all of the realm, else a digest.
    `plan` is the digest of the plan of a policy file that the changes are of, empty for other changes.
    `done` of `total` are decisions, as they were `progress_at`.  `result` is written when it is finished,
    `trouble` says why there is none.
    """

    key = models.CharField(max_length=64, unique=True)
    realm = models.ForeignKey(Realm, models.CASCADE, related_name="calculations")
    revision = models.BigIntegerField()
    by = models.ForeignKey(Principal, models.CASCADE, related_name="+")
    sight = models.CharField(max_length=64, blank=True)
    plan = models.CharField(max_length=64, blank=True)
    changes = models.JSONField()
    at = models.DateTimeField()
    days = models.IntegerField(null=True)
    asked = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    progress_at = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    trouble = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"asked at {self.asked}"

    @property
    def state(self) -> str:
        if self.finished is not None:
            return "failed" if self.trouble else "done"
        return "running" if self.started is not None else "waiting"

    @property
    def percent(self) -> int:
        """How much of it is done; a hundred only when all is."""
        if self.finished is not None:
            return 100
        return min(99, 100 * self.done // self.total) if self.total else 0
