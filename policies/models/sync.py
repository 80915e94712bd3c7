"""What is sent out to backends: where to look, what was found, what became of it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Principal
from accounts.models.sealing import Sealed
from catalog.models import Realm, Securable
from lakewarden.backends import kinds


class Backend(Sealed):
    """An outside system that mirrors one catalog.  Secrets are encrypted at rest and never shown again."""

    class Policy(models.TextChoices):
        REPAIR = "repair", "repair"
        REPORT = "report", "report only"

    class State(models.TextChoices):
        NEW = "new", "not yet compared"
        IN_SYNC = "in_sync", "in sync"
        BEHIND = "behind", "behind"
        FAILED = "failed", "failed"
        PAUSED = "paused", "paused"
        HELD = "held", "held"
        SILENT = "silent", "not answering"

    class Awaits(models.TextChoices):
        NEW = "new", "an operator has to agree to the new connection"
        MOVED = "moved", "it leads to another system than before"
        SHARED = "shared", "another connection governs the same system"

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="backends")
    catalog = models.OneToOneField(Securable, models.PROTECT, related_name="backend")
    kind = models.CharField(max_length=64)
    """The code of one of `lakewarden.backends.kinds`; that of a package may no longer be installed."""
    sealed_url = models.TextField()
    place = models.CharField(max_length=255)
    policy = models.CharField(max_length=8, choices=Policy, default=Policy.REPAIR)
    state = models.CharField(max_length=8, choices=State, default=State.NEW)
    proved_revision = models.BigIntegerField(default=0)
    """What was decided up to this revision was read back there, but for what is stuck."""
    proved_at = models.DateTimeField(null=True)
    compared_revision = models.BigIntegerField(default=0)
    """What was decided up to this revision was compared; what differs stands in the findings, one by one."""
    counts = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    error_kind = models.CharField(max_length=16, blank=True)
    """transient, gone, rejected, misconfigured: what to do next."""
    paused_by = models.ForeignKey(Principal, models.SET_NULL, null=True, related_name="+")
    paused_at = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    share = models.PositiveSmallIntegerField(default=50)
    """A plan that takes something from more than this many of a hundred people is held."""
    confirmed = models.CharField(max_length=64, blank=True)
    """The digest of a held plan that somebody has looked at and let through."""
    rate = models.PositiveIntegerField(default=0)
    """How many rights and memberships are changed in the backend each second at most; 0 for no limit."""
    paced_until = models.DateTimeField(null=True)
    """Until then the rate is used up, whichever worker used it."""
    read_at = models.DateTimeField(null=True)
    """When the objects that it has were last read and brought here."""
    read_nightly = models.BooleanField(default=True)
    """Whether they are read again each night, once somebody has had them read."""
    looked_at = models.DateTimeField(null=True)
    compared_at = models.DateTimeField(null=True)
    """When all of it was last worked out and compared; a look in between may find that nothing changed."""
    whole_at = models.DateTimeField(null=True)
    """When all of it was last read; where that is dear, a look in between reads only its position."""
    position = models.CharField(max_length=64, blank=True)
    """Where it stood then, for a backend that tells it in few calls."""
    seen = models.CharField(max_length=64, blank=True)
    """The digest of what was there when it was last compared."""
    forgotten = models.JSONField(default=dict)
    """How many runs, and steps in them, were deleted as old, by how they ended."""
    restored = models.BooleanField(default=False)
    """Only reports because the console's own database went back in time, until somebody has seen the plan."""
    source = models.CharField(max_length=255, blank=True)
    """Which system it leads to, as that system says itself; "" until it was first asked."""
    within = ArrayField(models.TextField(), default=list)
    """What that lies in, itself among it: two of which one lies in the other govern the same."""
    sole = models.BooleanField(default=True)
    """Whether no other connection may govern the same; a site's operator may have said otherwise."""
    awaits = models.CharField(max_length=8, choices=Awaits, blank=True)
    """Why it only reports until an operator agrees, whatever its policy; "" once somebody has."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source"], condition=Q(sole=True) & ~Q(source=""), name="a_source_has_one_connection"
            ),
        ]

    SEALED = (
        *("realm_id", "catalog_id", "kind", "sealed_url", "place", "policy", "share", "confirmed"),
        *("restored", "source", "within", "sole", "awaits"),
    )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.place}"

    @property
    def does(self) -> str:
        """What it does now: whatever its policy, it only reports while somebody has to agree to it."""
        return Backend.Policy.REPORT if self.awaits else self.policy

    def get_kind_display(self) -> str:
        """The name of the system; its code when no backend of that kind is installed."""
        return kinds.label(self.kind)


class DatabaseIdentity(models.Model):
    """Which database the console last ran on, to notice that a copy was put in its place.  One row."""

    ONLY = 1

    identity = models.TextField()
    since = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_database_identity")]

    def __str__(self) -> str:
        return self.identity


class BackendLogins(models.Model):
    """Who can sign in to a backend, as of the last look."""

    backend = models.OneToOneField(Backend, models.CASCADE, primary_key=True, related_name="logins")
    names = ArrayField(models.TextField(), default=list)

    def __str__(self) -> str:
        return f"logins of {self.backend_id}"


class FoundOwner(models.Model):
    """The owner of an object in the backend, as last read: a suggestion, as ownership is decided here."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="found_owners")
    securable = models.OneToOneField(Securable, models.CASCADE, related_name="found_owner")
    name = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["backend", "name"], name="found_owners_by_name")]

    def __str__(self) -> str:
        return f"{self.name} owns {self.securable_id}"


class Heartbeat(models.Model):
    """When the workers of a queue, and the beat through them, were last heard of."""

    name = models.CharField(max_length=16, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.at}"


class OutboxEntry(models.Model):
    """Look here, not before `due`.  Deleted only after what was read then is true in the backend."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="entries")
    key = models.CharField(max_length=32)
    revision = models.BigIntegerField()
    due = models.DateTimeField()
    since = models.DateTimeField(null=True)
    """When it was first due, once it was postponed; until then `due` says it."""
    revokes = models.BooleanField(default=False)
    attempts = models.IntegerField(default=0)
    lease = models.CharField(max_length=32, blank=True)
    parked = models.BooleanField(default=False)
    parked_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    error_kind = models.CharField(max_length=16, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["backend", "due"], condition=Q(parked=False), name="outbox_due"),
        ]

    def __str__(self) -> str:
        return f"{self.backend_id}: {self.key}"


class Tried(models.Model):
    """What its backend said of one item when it was last tried; `attempts` counts failures in a row."""

    attempts = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    error_kind = models.CharField(max_length=16, blank=True)

    class Meta:
        abstract = True

    @property
    def is_stuck(self) -> bool:
        """Whether it failed so often, and for a reason that lasts, that it waits for somebody."""
        return self.attempts >= STUCK_AFTER and self.error_kind in LASTING and not self.is_left

    @property
    def is_left(self) -> bool:
        """Whether somebody decided to leave it in the backend as it is, for now."""
        return False


LASTING = ("rejected", "misconfigured")
"""The kinds of errors that do not pass by themselves."""
STUCK_AFTER = 3
"""So many failures that will not mend themselves, and an item waits for somebody to look at it."""
STUCK = Q(attempts__gte=STUCK_AFTER, error_kind__in=LASTING)
"""The same as `Tried.is_stuck`, asked of rows; of findings `items.stuck` leaves out what is left as it is."""


class BackendFinding(Tried):
    """Something in the backend that differs from what was decided, or that nobody decided here."""

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
    type = models.CharField(max_length=16, blank=True)
    path = models.JSONField(default=list)
    people = ArrayField(models.TextField(), default=list)
    """Who is concerned: the members of a role that lacks a right; a foreign holder that can sign in."""
    concerns = models.JSONField(null=True)
    """On which objects it differs, by number, each with the privileges it is about, none for all of them.

    Null is everywhere: it was not worked out, or is about very many.
    """
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    hindered = models.JSONField(default=dict)
    """Of a foreign right: why our account could not `take` it, or `give` the like, if that is known."""
    accepted_until = models.DateTimeField(null=True)
    accepted_reason = models.TextField(blank=True)
    accepted_by = models.ForeignKey(Principal, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["backend", "kind", "place", "holder", "what", "grantor"], name="one_finding_each"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.what} {self.place}"

    @property
    def is_left(self) -> bool:
        return self.accepted_until is not None and self.accepted_until > timezone.now()


class ForeignOrder(Sealed, Tried):
    """An owner's decision that one foreign right is to go; done when a look no longer finds it."""

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="orders")
    securable = models.ForeignKey(Securable, models.SET_NULL, null=True, related_name="+")
    type = models.CharField(max_length=16)
    path = models.JSONField(default=list)
    right = models.TextField()
    holder = models.CharField(max_length=255)
    grantor = models.CharField(max_length=255, blank=True)
    replaced = models.BooleanField(default=False)
    """Adopted: it goes only when what we give in its stead is there."""
    revision = models.BigIntegerField()
    by = models.ForeignKey(Principal, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    done = models.DateTimeField(null=True)
    dropped = models.BooleanField(default=False)
    """Given up: it is done with, and the right was left as it was."""

    class Meta:
        indexes = [models.Index(fields=["backend"], condition=Q(done__isnull=True), name="orders_open")]

    SEALED = (
        *("backend_id", "type", "path", "right", "holder", "grantor", "replaced", "revision"),
        *("done", "dropped"),
    )

    def __str__(self) -> str:
        return f"take {self.right} from {self.holder}"


class SyncRun(models.Model):
    """One comparison with a backend: what was read, planned, done, and proved by reading again."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        PROVED = "proved", "proved"
        UNPROVED = "unproved", "not yet equal"
        SHOWN = "shown", "only shown"
        HELD = "held", "held"
        FAILED = "failed", "failed"

    backend = models.ForeignKey(Backend, models.CASCADE, related_name="runs")
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    revision = models.BigIntegerField(default=0)
    applied = models.IntegerField(default=0)
    counts = models.JSONField(default=dict)
    errors = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=State, default=State.RUNNING)
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    removals = models.IntegerField(default=0)
    removed = models.IntegerField(default=0)
    losing = models.IntegerField(default=0)
    """How many people the plan takes something from."""
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(fields=["backend", "-id"], name="runs_latest")]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.backend_id}"


class SyncItem(models.Model):
    """One step of a run's plan and what became of it, in the backend's own words."""

    class State(models.TextChoices):
        PLANNED = "planned", "planned"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    run = models.ForeignKey(SyncRun, models.CASCADE, related_name="items")
    number = models.IntegerField()
    step = models.CharField(max_length=16)
    role = models.TextField(blank=True)
    label = models.TextField(blank=True)
    person = models.TextField(blank=True)
    what = models.JSONField(default=dict)
    removes = models.IntegerField(default=0)
    places = ArrayField(models.TextField(), default=list)
    """The paths of the objects that it is about, each once; the empty path is the connected node itself."""
    state = models.CharField(max_length=8, choices=State, default=State.PLANNED)
    error = models.TextField(blank=True)
    error_kind = models.CharField(max_length=16, blank=True)
    at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="one_item_each")]
        indexes = [GinIndex(fields=["places"], name="items_places")]

    def __str__(self) -> str:
        return f"{self.step} {self.role or self.person}"
