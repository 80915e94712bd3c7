"""What was signed of the record, and where it was sent."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models


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
        ACCESS = "access", "refusals and looks"

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
        one = {self.Log.CHANGES: "change", self.Log.ACCESS: "refusal or look"}
        return one[self.Log(self.log)] if self.size == 1 else self.get_log_display()


class Verification(models.Model):
    """One reading of the whole record, asked for by somebody: how far it is, and what it found."""

    by = models.CharField(max_length=40)
    asked = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    total = models.BigIntegerField(default=0)
    changes = models.BigIntegerField(default=0)
    looks = models.BigIntegerField(default=0)
    signed = models.IntegerField(default=0)
    broken = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"asked at {self.asked}"
