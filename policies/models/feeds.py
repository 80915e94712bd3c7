"""How far the record was followed, by each place that follows it."""

from __future__ import annotations

from django.db import models


class Feed(models.Model):
    """One follower: the last change and access record it has, and for a file how long it was then.

    `until` is the batch on its way: a webhook that was not answered gets the very same again.
    """

    name = models.TextField(unique=True)
    changes = models.BigIntegerField(default=0)
    access = models.BigIntegerField(default=0)
    until = models.JSONField(null=True)
    length = models.BigIntegerField(default=0)
    trouble = models.TextField(blank=True)
    at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} up to {self.changes}"
