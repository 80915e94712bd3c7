"""Tokens: only a digest at rest, and a prefix to recognise them by."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models.principals import Principal

SCOPES = ("check", "report", "request", "manage", "audit", "directory")


class Token(models.Model):
    """A bearer of its principal's rights, narrowed to `scopes` (empty: all of them) until `expires`.

    One with a `run` is held by a running job: it only asks, in the realm of that number, for its principal,
    whoever the `starter` was.  With a `view` besides, it reads that view at that `revision` and nothing else.
    With `addresses` it is good from these networks alone.  One with a `successor` was rotated.
    """

    principal = models.ForeignKey(Principal, models.PROTECT, related_name="tokens")
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=16), default=list)
    addresses = ArrayField(models.CharField(max_length=43), default=list, db_default=[])
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True)
    last_used = models.DateTimeField(null=True)
    revoked = models.DateTimeField(null=True)
    run = models.CharField(max_length=16, blank=True)
    realm = models.BigIntegerField(null=True)
    starter = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="started")
    view = models.CharField(max_length=16, blank=True)
    revision = models.BigIntegerField(null=True)
    successor = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replaced")

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.principal}"
