"""Reviews of access: the frozen population, who is asked, what was decided, and what became of it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, UniqueConstraint
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from accounts.models.sealing import Sealed
from catalog.models import Realm, Securable
from policies.models import review_states


class Review(Sealed):
    """One campaign over the access of one realm as it was at `revision`.

    `scope`: `{"objects": […], "people": […], "roles": […], "services": bool, "risks": […]}` by number.
    `stages`: `[{"by": "owner" | "keeper" | "duty" | "people", "people": […], "until": "…"}]`, the first at 0.
    `progress`: where building goes on after a crash.  `counts` and `digest` are those of the population.
    """

    SEALED = ("realm_id", "starter_id", "silence", "stages", "fallback_id")

    class Silence(models.TextChoices):
        KEEP = "keep", "access stays"
        REMOVE = "remove", "access is removed"
        ESCALATE = "escalate", "the starter decides"

    class Reasons(models.TextChoices):
        NEVER = "never", "never"
        CHANGES = "changes", "for whatever is not kept"
        FAR = "far", "for whatever is not kept, and for what reaches far"
        ALWAYS = "always", "always"

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="reviews")
    title = models.CharField(max_length=200)
    purpose = models.TextField(blank=True)
    starter = models.ForeignKey(Principal, models.PROTECT, related_name="reviews")
    state = models.CharField(
        max_length=10, choices=review_states.REVIEW.choices, default=review_states.REVIEW.initial
    )
    scope = models.JSONField(default=dict)
    stages = models.JSONField(default=list)
    stage = models.PositiveSmallIntegerField(default=0)
    fallback = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    silence = models.CharField(max_length=8, choices=Silence, default=Silence.KEEP)
    reasons = models.CharField(max_length=8, choices=Reasons, default=Reasons.CHANGES)
    bulk = models.PositiveSmallIntegerField(default=20)
    """So many rows are decided at most in one step; rows that reach far only one by one."""
    pace = models.PositiveSmallIntegerField(default=3)
    """Seconds; whoever takes less for a row decides it quickly."""
    sample = models.PositiveSmallIntegerField(default=10)
    """So many of a hundred quick decisions are looked at again by another person."""
    revision = models.BigIntegerField()
    started = models.DateTimeField()
    opened = models.DateTimeField(null=True)
    due = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    """When deciding was over."""
    closed = models.DateTimeField(null=True)
    every = models.PositiveSmallIntegerField(null=True)
    """Months between two reviews of a series."""
    series = models.ForeignKey("self", models.PROTECT, null=True, related_name="instances")
    previous = models.ForeignKey("self", models.PROTECT, null=True, related_name="following")
    """The review before it, against which changes are told."""
    progress = models.JSONField(default=dict)
    lease = models.CharField(max_length=32, blank=True)
    leased = models.DateTimeField(null=True)
    counts = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True)
    reminded = models.JSONField(default=list)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["realm", "-id"], name="reviews_of_realm"),
            models.Index(fields=["state", "due"], name="reviews_due"),
        ]

    def __str__(self) -> str:
        return self.title


class ReviewDesk(Sealed):
    """Rows that the same people are asked about in one stage; `key` says by which rule they came together."""

    SEALED = ("review_id", "stage", "key")

    review = models.ForeignKey(Review, models.CASCADE, related_name="desks")
    stage = models.PositiveSmallIntegerField(default=0)
    key = models.CharField(max_length=200)
    label = models.TextField(blank=True)
    """Why these people: "who owns shop.sales"."""

    class Meta:
        constraints = [UniqueConstraint(fields=["review", "stage", "key"], name="one_desk_a_key")]

    def __str__(self) -> str:
        return self.key


class ReviewSeat(Sealed):
    """Somebody is asked at a desk: by the rule, or because `by` passed it on to them."""

    SEALED = ("desk_id", "reviewer_id", "left")

    desk = models.ForeignKey(ReviewDesk, models.CASCADE, related_name="seats")
    reviewer = models.ForeignKey(Principal, models.PROTECT, related_name="seats")
    ground = models.CharField(max_length=32)
    by = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    left = models.DateTimeField(null=True)
    """When they passed it on to somebody else."""

    class Meta:
        constraints = [UniqueConstraint(fields=["desk", "reviewer"], name="one_seat_each")]
        indexes = [models.Index(fields=["reviewer"], condition=Q(left__isnull=True), name="seats_taken")]

    def __str__(self) -> str:
        return f"{self.reviewer} at {self.desk_id}"


class ReviewRow(models.Model):
    """One piece of access as it was at the start, and what is decided about it.

    What ends when it is removed are the `facts`; `privileges` are what they give together.  `role` is set for
    what is held through a role or given to one, `group` for somebody's place in a group.  Names of people
    stand in the one map alone; `what` is the object's or role's full name then.
    """

    class Kind(models.TextChoices):
        GRANT = "grant", gettext_lazy("direct")
        ROLE = "role", gettext_lazy("through a role")
        RULE = "rule", gettext_lazy("what a role says")
        MEMBER = "member", gettext_lazy("in a group")
        OWNER = "owner", gettext_lazy("as the owner")
        FOREIGN = "foreign", gettext_lazy("granted outside Lakewarden")

    class Choice(models.TextChoices):
        KEEP = "keep", gettext_lazy("keep")
        REMOVE = "remove", gettext_lazy("remove")
        REDUCE = "reduce", gettext_lazy("reduce")
        END = "end", gettext_lazy("end on a date")
        UNSURE = "unsure", gettext_lazy("not sure")

    class Rank(models.IntegerChoices):
        CHANGED = 1, gettext_lazy("changed since the last review")
        FAR = 2, gettext_lazy("high risk")
        UNUSED = 3, gettext_lazy("unused")
        OTHER = 4, gettext_lazy("everything else")

    review = models.ForeignKey(Review, models.CASCADE, related_name="rows")
    number = models.IntegerField()
    kind = models.CharField(max_length=8, choices=Kind)
    key = models.CharField(max_length=64)
    """The same in every review that has this access in it."""
    content = models.CharField(max_length=64)
    """The digest of what it gives, by which a change is noticed."""
    holder = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    group = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    role = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    role_name = models.CharField(max_length=300, blank=True)
    securable = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    lineage = ArrayField(models.BigIntegerField(), default=list)
    type = models.CharField(max_length=24, blank=True)
    what = models.TextField(blank=True)
    place = models.CharField(max_length=200, blank=True)
    """The beginning of `what`, by which rows are sorted."""
    pattern = models.TextField(blank=True)
    privileges = ArrayField(models.CharField(max_length=32), default=list)
    effect = models.CharField(max_length=5, default="allow")
    gives = models.JSONField(default=list)
    """Of a role or group: what it gives, `[[object, full name, [privileges], effect], …]`, some of it."""
    facts = ArrayField(models.CharField(max_length=40), default=list)
    since = models.BigIntegerField(null=True)
    """The revision that gave it."""
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    outside = models.JSONField(default=dict)
    """Of what was given outside: backend, holder and giver as they are called there."""

    people = models.IntegerField(default=0)
    objects_below = models.IntegerField(default=0)
    risks = ArrayField(models.CharField(max_length=16), default=list)
    far = models.BooleanField(default=False)
    rank = models.PositiveSmallIntegerField(choices=Rank, default=Rank.OTHER)
    last_used = models.DateTimeField(null=True)
    uses_told = models.BooleanField(default=False)
    """Whether anybody reports uses there at all; if not, nothing can be said of them."""
    peers_have = models.IntegerField(default=0)
    peers_of = models.IntegerField(default=0)
    change = models.CharField(max_length=8, blank=True)
    """new, more, less, other or same, since the review before; "" when there was none."""
    advice = models.CharField(max_length=8, blank=True)
    advised = ArrayField(models.CharField(max_length=32), default=list)
    ground = models.CharField(max_length=24, blank=True)

    desk = models.ForeignKey(ReviewDesk, models.SET_NULL, null=True, related_name="rows")
    state = models.CharField(
        max_length=8, choices=review_states.ROW.choices, default=review_states.ROW.initial
    )
    version = models.IntegerField(default=0)
    choice = models.CharField(max_length=8, choices=Choice, blank=True)
    takes = ArrayField(models.CharField(max_length=32), default=list)
    until = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    quick = models.BooleanField(default=False)
    seen_twice = models.BooleanField(default=False)
    """Another person looked again and decided."""

    default = models.BooleanField(default=False)
    """Nobody decided; the answer to silence did."""
    outcome = models.TextField(blank=True)
    carried_revision = models.BigIntegerField(null=True)
    carried_at = models.DateTimeField(null=True)
    proved_at = models.DateTimeField(null=True)
    proof = models.JSONField(default=dict)
    """`{"backend", "revision", "at"}` of the reading that no longer found it."""
    seal = models.BinaryField(null=True, editable=False)
    """Over what it is about and what is decided (`review_seals`)."""
    desk_seal = models.BinaryField(null=True, editable=False)
    """Over the desk that it lies on."""
    edition = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """How often what either seal covers was written since; both cover it."""

    class Meta:
        constraints = [
            UniqueConstraint(fields=["review", "number"], name="one_row_a_number"),
            UniqueConstraint(fields=["review", "key"], name="one_row_a_key"),
        ]
        indexes = [
            models.Index(fields=["review", "rank", "number"], name="review_rows_by_risk"),
            models.Index(fields=["review", "holder", "number"], name="review_rows_by_holder"),
            models.Index(fields=["review", "place", "number"], name="review_rows_by_object"),
            models.Index(fields=["desk", "state"], name="review_rows_of_desk"),
            models.Index(fields=["review", "state", "number"], name="review_rows_by_state"),
        ]

    def __str__(self) -> str:
        return f"row {self.number} of {self.review_id}"


class ReviewDecision(models.Model):
    """One decision as it was made; the last one of a row is the one in force."""

    row = models.ForeignKey(ReviewRow, models.CASCADE, related_name="decisions")
    reviewer = models.ForeignKey(Principal, models.PROTECT, related_name="+")
    stage = models.PositiveSmallIntegerField(default=0)
    choice = models.CharField(max_length=8, choices=ReviewRow.Choice, blank=True)
    takes = ArrayField(models.CharField(max_length=32), default=list)
    until = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()
    seconds = models.FloatField(null=True)
    """How long they took for it; None when nobody knows."""
    together = models.IntegerField(default=1)
    """How many rows were decided in that step."""
    revision = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["row", "-id"], name="decisions_latest")]

    def __str__(self) -> str:
        return f"{self.choice} by {self.reviewer_id}"
