"""What was signed of the record, and where it was sent."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import ngettext


class AccessCounter(models.Model):
    """How many access records there are, and the digest of the last.  One row."""

    size = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.size} access record{'' if self.size == 1 else 's'}"


class Checkpoint(models.Model):
    """One signed note over a log of `size` entries; `sent` names the places outside that have it.

    `peaks` are the tree's complete subtrees in hex, from which the next checkpoint goes on.
    """

    class Log(models.TextChoices):
        CHANGES = "changes", "changes"
        ACCESS = "access", "refusals and views"

    log = models.CharField(max_length=8, choices=Log)
    size = models.BigIntegerField()
    root = models.CharField(max_length=64)
    peaks = ArrayField(models.CharField(max_length=64))
    at = models.DateTimeField()
    note = models.TextField()
    sent = ArrayField(models.TextField(), default=list)
    trouble = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["log", "size"], name="one_checkpoint_a_size")]

    def __str__(self) -> str:
        return f"{self.log} up to {self.size}"

    @property
    def counted(self) -> str:
        """What of the log the note is over, its number left out."""
        if self.log == self.Log.CHANGES:
            return ngettext("change", "changes", self.size)
        return ngettext("refusal or view", "refusals and views", self.size)


class Verification(models.Model):
    """One reading of the record: how far it is, and what it found.

    `by` is empty for those that the site does by itself.  A `whole` one reads all of it; others what is new
    and, of what is older, the part after the `turn` of the one before.  `upto` is how far the record went.
    """

    by = models.CharField(max_length=40, blank=True)
    whole = models.BooleanField(default=True)
    upto = models.BigIntegerField(default=0)
    turn = models.BigIntegerField(default=0)
    asked = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    total = models.BigIntegerField(default=0)
    changes = models.BigIntegerField(default=0)
    looks = models.BigIntegerField(default=0)
    signed = models.IntegerField(default=0)
    broken = models.TextField(blank=True)
    facts = models.BigIntegerField(default=0)
    differences = models.BigIntegerField(default=0)
    differing = ArrayField(models.TextField(), default=list)
    lost = ArrayField(models.TextField(), default=list)

    def __str__(self) -> str:
        return f"asked at {self.asked}"

    @property
    def is_good(self) -> bool:
        return not self.broken and not self.differences
