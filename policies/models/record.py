"""The record: one numbered, chained change for each thing done, its events, and who looked or was refused.

No foreign keys into the live data: the record stands alone and speaks of people by pseudonym.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q, UniqueConstraint
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from policies.models.search_index import CHANGE_FACETS, CHANGE_WORDS, EVENT_FACETS, EVENT_WORDS


class Counter(models.Model):
    """The site's one number: the last committed revision and its digest.  One row."""

    revision = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"revision {self.revision}"


class Touch(models.Model):
    """The last revision at which a holder was touched: `p:` a principal, `s:` a role, `r:` a realm."""

    key = models.CharField(max_length=32, primary_key=True)
    revision = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.key} at {self.revision}"


class RealmTouch(models.Model):
    """The same within a realm; NOWHERE where what changed matters in none."""

    NOWHERE = 0
    realm = models.BigIntegerField()
    key = models.CharField(max_length=32)
    revision = models.BigIntegerField()

    class Meta:
        constraints = [UniqueConstraint(fields=["realm", "key"], name="one_touch_a_realm")]
        indexes = [
            models.Index(fields=["realm", "revision"], name="touches_of_realm"),
            models.Index(fields=["key", "revision"], name="touches_of_key"),
        ]

    def __str__(self) -> str:
        return f"{self.key} at {self.revision} in realm {self.realm}"


class Change(models.Model):
    """One committed change.  `digest` covers all of it and the digest before, so an edit anywhere shows."""

    revision = models.BigIntegerField(primary_key=True)
    kind = models.CharField(max_length=40)
    realm = models.BigIntegerField(null=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=40)
    on_behalf_of = models.CharField(max_length=40, blank=True)
    via = models.CharField(max_length=40)
    reason = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    previous = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["realm", "-revision"], name="changes_of_realm"),
            models.Index(fields=["actor", "-revision"], name="changes_of_actor"),
            models.Index(fields=["at", "revision"], name="changes_by_time"),
            GinIndex(CHANGE_FACETS, CHANGE_WORDS, name="changes_by_facets", gin_pending_list_limit=64),
            models.Index(F("revision").bitrightshift(14), "at", name="changes_of_block"),
            models.Index(fields=["request_id"], condition=~Q(request_id=""), name="changes_of_request"),
        ]

    def __str__(self) -> str:
        return f"{self.revision} {self.kind}"


ENDS_FACT = Q(data__has_key="fact") & ~Q(data__has_key="state")
"""Of an event: that by it a fact ended, whose state it therefore does not tell."""


class Event(models.Model):
    """One thing that began or ended in a change.

    `object_key` is the object's number, `lineage` the numbers from the realm's root down to it, `people` the
    pseudonyms of those concerned.
    """

    change = models.ForeignKey(Change, models.PROTECT, related_name="events")
    number = models.IntegerField()
    kind = models.CharField(max_length=40)
    object_type = models.CharField(max_length=24, blank=True)
    object_name = models.TextField(blank=True)
    object_key = models.BigIntegerField(null=True)
    lineage = ArrayField(models.BigIntegerField(), default=list)
    people = ArrayField(models.CharField(max_length=40), default=list)
    data = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["change", "number"], name="one_event_a_number")]
        indexes = [
            GinIndex(fields=["lineage"], name="events_by_lineage"),
            GinIndex(fields=["people"], name="events_by_people"),
            GinIndex(EVENT_FACETS, EVENT_WORDS, name="events_by_facets", gin_pending_list_limit=64),
            models.Index(fields=["kind", "-change"], name="events_by_kind"),
            models.Index(fields=["object_key", "-change"], name="events_of_object"),
            GinIndex(
                KeyTransform("editions", "data"),
                name="events_by_edition",
                condition=Q(data__has_key="editions"),
            ),
            # of events that end a fact, to see which of those that are open have ended
            models.Index(
                KeyTextTransform("fact", "data"),
                name="events_by_ended_fact",
                condition=ENDS_FACT,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.change_id}.{self.number} {self.kind}"


class AccessRecord(models.Model):
    """Somebody was refused, or looked at others' access.  Chained like changes, in a chain of its own."""

    class Kind(models.TextChoices):
        REFUSED = "refused", "refused"
        LOOKED = "looked", "looked at others' access"

    kind = models.CharField(max_length=8, choices=Kind)
    at = models.DateTimeField()
    realm = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=40)
    operation = models.CharField(max_length=64)
    object_type = models.CharField(max_length=24, blank=True)
    object_name = models.TextField(blank=True)
    lineage = ArrayField(models.BigIntegerField(), default=list)
    via = models.CharField(max_length=40)
    previous = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["actor", "-at"], name="access_of_actor"),
            GinIndex(fields=["lineage"], name="access_by_lineage"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.operation}"


class AccessRepeat(models.Model):
    """How often the same was repeated within the hour after it was first recorded."""

    record = models.OneToOneField(AccessRecord, models.CASCADE, primary_key=True, related_name="repeat")
    count = models.IntegerField(default=1)
    last = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.count} times"
