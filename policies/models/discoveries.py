"""Readings of a connected source that somebody asked for."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from policies.models.sync import Backend


class Discovery(models.Model):
    """One reading of a source's objects: how far it is, what it brought; `error` is in the source's words."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="discoveries")
    by = models.CharField(max_length=40)
    asked = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    added = models.IntegerField(default=0)
    renamed = models.IntegerField(default=0)
    moved = models.IntegerField(default=0, db_default=0)
    """How many of the renamed stand below another parent now, where others have rights."""
    replays = models.JSONField(default=list, db_default=[])
    """Which uses these moves refuse or allow from then on, as `policies/simulation/stored_replays.py` has
    it."""
    described = models.IntegerField(default=0)
    vanished = models.IntegerField(default=0)
    left_out = ArrayField(models.TextField(), default=list)
    """Of which objects, and why, it says that they cannot be governed: the first of them."""
    left_out_count = models.IntegerField(default=0)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.backend_id} asked at {self.asked}"
