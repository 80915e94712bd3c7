"""What is sent out to backends: where to look, what was found, what became of it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from catalog.models import Realm, Securable


class Backend(models.Model):
    """An outside system that mirrors one catalog.  Secrets are encrypted at rest and never shown again."""

    class Kind(models.TextChoices):
        POSTGRESQL = "postgresql", "PostgreSQL"

    class Policy(models.TextChoices):
        REPAIR = "repair", "repair"
        REPORT = "report", "report only"

    class State(models.TextChoices):
        NEW = "new", "not yet compared"
        IN_SYNC = "in_sync", "in sync"
        BEHIND = "behind", "behind"
        FAILED = "failed", "failed"
        PAUSED = "paused", "paused"

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="backends")
    catalog = models.OneToOneField(Securable, models.PROTECT, related_name="backend")
    kind = models.CharField(max_length=16, choices=Kind)
    sealed_url = models.TextField()
    place = models.CharField(max_length=255)
    policy = models.CharField(max_length=8, choices=Policy, default=Policy.REPAIR)
    state = models.CharField(max_length=8, choices=State, default=State.NEW)
    proved_revision = models.BigIntegerField(default=0)
    proved_at = models.DateTimeField(null=True)
    counts = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.place}"


class OutboxEntry(models.Model):
    """Look here, not before `due`.  Deleted only after what was read then is true out there."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="entries")
    key = models.CharField(max_length=32)
    revision = models.BigIntegerField()
    due = models.DateTimeField()
    revokes = models.BooleanField(default=False)
    attempts = models.IntegerField(default=0)
    lease = models.CharField(max_length=32, blank=True)
    parked = models.BooleanField(default=False)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["backend", "due"], condition=Q(parked=False), name="outbox_due"),
        ]

    def __str__(self) -> str:
        return f"{self.backend_id}: {self.key}"


class BackendFinding(models.Model):
    """Something out there that differs from what was decided, or that nobody decided here."""

    class Kind(models.TextChoices):
        MISSING = "missing", "missing"
        EXTRA = "extra", "extra"
        FOREIGN = "foreign", "foreign"
        UNKNOWN = "unknown", "unknown"
        BYPASS = "bypass", "bypass"

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="findings")
    kind = models.CharField(max_length=8, choices=Kind)
    securable = models.ForeignKey(Securable, models.SET_NULL, null=True, related_name="findings")
    place = models.TextField(blank=True)
    holder = models.CharField(max_length=255, blank=True)
    what = models.TextField()
    grantor = models.CharField(max_length=255, blank=True)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["backend", "kind", "place", "holder", "what", "grantor"], name="one_finding_each"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.what} {self.place}"


class SyncRun(models.Model):
    """One comparison with a backend: what was read, done, and proved by reading again."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="runs")
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    revision = models.BigIntegerField(default=0)
    applied = models.IntegerField(default=0)
    counts = models.JSONField(default=dict)
    errors = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"run {self.pk} of {self.backend_id}"
