"""Rows that were written past the console, found by their seals."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint


class UnsealedFact(models.Model):
    """A row that no change left as it is; it stands here until it is set right.

    `key` names whose answers it could change.  `writer` is the number of the transaction that last wrote the
    row, `written` when that was, where the server keeps the times of transactions.
    """

    model = models.CharField(max_length=32)
    row = models.BigIntegerField()
    key = models.CharField(max_length=40)
    realm = models.BigIntegerField(null=True)
    content = models.JSONField(default=dict)
    writer = models.CharField(max_length=20, blank=True)
    written = models.DateTimeField(null=True)
    found = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["model", "row"], name="one_unsealed_a_row")]
        indexes = [models.Index(fields=["key"], name="unsealed_by_key")]

    def __str__(self) -> str:
        return f"{self.model}:{self.row}"

    @property
    def closes(self) -> bool:
        """Whether the fact was taken away, so that whom it was about gets no for an answer."""
        return not self.writer or self.content.get("closed") is not None

    def says_the_same(self, other: UnsealedFact | None) -> bool:
        """Whether the same follows from both."""
        if other is None:
            return False
        return (self.key, self.realm, self.closes) == (other.key, other.realm, other.closes)
