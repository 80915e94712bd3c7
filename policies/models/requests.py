"""Requests for access: what was asked, the decisions it needs, what became of it, and who decides for whom.

Nothing here gives access: that is done by facts, which the requests' changes begin.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q, UniqueConstraint

from accounts.models import Principal
from accounts.models.sealing import Sealed
from catalog.models import Realm, Securable
from policies.models.states import Move, States
from policies.models.sync import Backend

WORDS = {
    "asked": "waiting for a decision",
    "asked_back": "waiting for an answer",
    "approved": "approved",
    "approved_less": "approved in part",
    "refused": "refused",
    "withdrawn": "withdrawn",
    "lapsed": "lapsed",
}

REQUEST = States(
    "request",
    "asked",
    WORDS,
    (
        Move("ask_back", ("asked",), "asked_back", "An approver wants to know more before deciding."),
        Move("answer", ("asked_back",), "asked", "It is answered, or decided without an answer, in part."),
        Move(
            "approve",
            ("asked", "asked_back"),
            "approved",
            "The last decision was a yes: all of it is granted, and the clock starts.",
        ),
        Move(
            "approve_less",
            ("asked", "asked_back"),
            "approved_less",
            "Every decision was made, and part of it is granted: less, for less long, or not all of it.",
        ),
        Move("refuse", ("asked", "asked_back"), "refused", "Every decision has come, and nothing is given."),
        Move("withdraw", ("asked", "asked_back"), "withdrawn", "The requester withdraws it."),
        Move("lapse", ("asked", "asked_back"), "lapsed", "Nobody decided in time."),
        Move(
            "reopen",
            ("approved", "approved_less"),
            "asked",
            "When access was to begin, an approver could no longer approve it.",
        ),
    ),
)

PART = States(
    "part of the request",
    "asked",
    {**WORDS, "needless": "not needed any more"},
    (
        Move("ask_back", ("asked",), "asked_back", "An approver of this part asks a question."),
        Move("answer", ("asked_back",), "asked", "The requester answers."),
        Move("approve", ("asked", "asked_back"), "approved", "An approver says yes."),
        Move(
            "approve_less",
            ("asked", "asked_back"),
            "approved_less",
            "An approver says yes to less than was asked, or for less long.",
        ),
        Move("refuse", ("asked", "asked_back"), "refused", "An approver says no, and why."),
        Move(
            "reopen",
            ("approved", "approved_less"),
            "asked",
            "Before it was carried out, an approver lost the right to approve it.",
        ),
        Move(
            "drop",
            ("asked", "asked_back", "approved", "approved_less"),
            "needless",
            "What it was needed for was refused elsewhere.",
        ),
        Move(
            "withdraw",
            ("asked", "asked_back", "approved", "approved_less"),
            "withdrawn",
            "The request was taken back before this was carried out.",
        ),
        Move(
            "lapse",
            ("asked", "asked_back", "approved", "approved_less"),
            "lapsed",
            "The request lapsed before this was carried out.",
        ),
    ),
)

FOLLOW = States(
    "delivery",
    "behind",
    {"behind": "on its way", "proved": "there", "stuck": "stuck"},
    (
        Move("prove", ("behind", "stuck"), "proved", "The backend was read again and matches the grant."),
        Move("hold", ("behind",), "stuck", "Something is in the way, with the reason."),
        Move("go_on", ("stuck",), "behind", "What stood in the way is gone; it is on its way again."),
    ),
)

WAITING = ("asked", "asked_back")
"""The states in which a request or a part of it is open."""
GRANTED = ("approved", "approved_less")
STILL_OPEN = Q(state__in=WAITING)


class AccessRequest(models.Model):
    """Somebody asks that `holder` may do something in one realm, for some time and for a reason.

    `lasts` is ISO 8601 (`P30D`, `PT8H`; days are those of the calendar in `zone`), `until` a moment; neither
    means without an end.  The clock starts when it is given, not before `starts`.  `realm` is None where no
    realm bears the name that was asked for; nobody who asked is told.
    """

    key = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64)
    asker = models.ForeignKey(Principal, models.PROTECT, related_name="requests_made")
    holder = models.ForeignKey(Principal, models.PROTECT, related_name="requests_for")
    realm_name = models.TextField()
    realm = models.ForeignKey(Realm, models.PROTECT, null=True, related_name="requests")
    reason = models.TextField()
    ticket = models.CharField(max_length=64, blank=True)
    lasts = models.CharField(max_length=32, blank=True)
    until = models.DateTimeField(null=True)
    starts = models.DateTimeField(null=True)
    zone = models.CharField(max_length=64, default="UTC")
    via = models.CharField(max_length=40)
    asked_at = models.DateTimeField()
    moved_at = models.DateTimeField()
    lapses_at = models.DateTimeField()
    state = models.CharField(max_length=16, choices=REQUEST.choices, default=REQUEST.initial)
    lineage = ArrayField(models.BigIntegerField(), default=list)
    """The way down to what is asked for, as far as whoever asks may know it."""

    class Meta:
        constraints = [
            UniqueConstraint(fields=["asker", "key"], condition=~Q(key=""), name="one_request_a_key"),
        ]
        indexes = [
            models.Index(fields=["asker", "-id"], name="requests_of_asker"),
            models.Index(fields=["holder", "-id"], name="requests_of_holder"),
            models.Index(fields=["realm", "-id"], name="requests_of_realm"),
            models.Index(fields=["lapses_at"], condition=STILL_OPEN, name="requests_to_lapse"),
        ]

    def __str__(self) -> str:
        return f"request {self.pk}"

    @property
    def open(self) -> bool:
        return self.state in WAITING


class RequestWant(models.Model):
    """One action on one object that is asked for; given as a whole when all its parts are approved.

    `name` is the object's id as it was asked (`demo/shop.sales.orders`); `securable` is None while there is
    no such object.  `due` is when it is to be given, where all is approved and its beginning lies ahead.
    """

    request = models.ForeignKey(AccessRequest, models.CASCADE, related_name="wants")
    number = models.IntegerField()
    type = models.CharField(max_length=24)
    name = models.TextField()
    action = models.CharField(max_length=64)
    securable = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="wanted")
    due = models.DateTimeField(null=True)
    given_at = models.DateTimeField(null=True)
    revision = models.BigIntegerField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["request", "number"], name="one_want_a_number")]
        indexes = [
            models.Index(fields=["due"], condition=Q(given_at__isnull=True), name="wants_due"),
            models.Index(fields=["securable", "-id"], name="wants_of_object"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.type} {self.name}"


class RequestPart(models.Model):
    """One decision that a request needs: privileges on one object, a role, membership of the realm, or the
    plan of a policy file.

    `needed` has, for each privilege (for "" otherwise), the numbers of the wants that need it.  `places` are
    the keys of the object and all above it (see `decision_places`), `addressed` those of them whose
    deciders are called on now.  `given`: the privileges approved; `role`: the role that is given in their
    stead.  `decided_for` is the absent person for whom a substitute decided.  `seal` is that of an approval.
    """

    class Kind(models.TextChoices):
        PRIVILEGE = "privilege", "privileges"
        MEMBERSHIP = "membership", "membership"
        ROLE = "role", "role"
        PLAN = "plan", "plan"

    request = models.ForeignKey(AccessRequest, models.CASCADE, related_name="parts")
    number = models.IntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    type = models.CharField(max_length=24)
    name = models.TextField()
    securable = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="request_parts")
    privileges = ArrayField(models.CharField(max_length=32), default=list)
    needed = models.JSONField(default=dict)
    places = ArrayField(models.TextField(), default=list)
    addressed = ArrayField(models.TextField(), default=list)
    state = models.CharField(max_length=16, choices=PART.choices, default=PART.initial)
    escalates_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    decided_for = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)
    given = ArrayField(models.CharField(max_length=32), default=list)
    role = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    lasts = models.CharField(max_length=32, blank=True)
    until = models.DateTimeField(null=True)
    carried = models.BooleanField(default=False)
    seal = models.BinaryField(max_length=36, null=True)
    edition = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """How often it was approved, or an approval of it was over."""

    class Meta:
        constraints = [UniqueConstraint(fields=["request", "number"], name="one_part_a_number")]
        indexes = [
            GinIndex(fields=["addressed"], name="parts_addressed", condition=STILL_OPEN),
            GinIndex(fields=["places"], name="parts_by_place"),
            models.Index(fields=["escalates_at"], condition=STILL_OPEN, name="parts_to_escalate"),
            models.Index(fields=["decided_by", "-id"], name="parts_decided"),
        ]

    def __str__(self) -> str:
        return f"part {self.number} of request {self.request_id}"

    @property
    def wants(self) -> set[int]:
        """The numbers of all that needs something of this part."""
        return {number for numbers in self.needed.values() for number in numbers}

    def gives_to(self, want: int) -> bool:
        """Whether what was approved here is all that a want needs here."""
        codes = [code for code, numbers in self.needed.items() if want in numbers]
        return self.state in GRANTED and all(not code or code in self.given for code in codes)


class PlannedFile(models.Model):
    """The plan of a policy file that a request is about, as its author saw it; changed only when somebody
    whom it names is erased.

    `plan` is its digest, `revision` that of the last change of access it was worked out at, `steps` what it
    does, each as an action, a sentence, and the statements that are so before and after it.
    """

    request = models.OneToOneField(
        AccessRequest, models.CASCADE, primary_key=True, related_name="planned_file"
    )
    plan = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    file = models.TextField()
    steps = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["plan"], name="planned_files_by_plan")]

    def __str__(self) -> str:
        return f"plan of request {self.request_id}"


class RequestStep(models.Model):
    """One thing that was done to a request; never changed.  `part` is its number, None for all of it."""

    request = models.ForeignKey(AccessRequest, models.CASCADE, related_name="steps")
    part = models.IntegerField(null=True)
    move = models.CharField(max_length=16)
    at = models.DateTimeField()
    by = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    on_behalf_of = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    text = models.TextField(blank=True)
    revision = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["revision"], name="steps_by_revision")]

    def __str__(self) -> str:
        return f"{self.move} of request {self.request_id}"


class RequestFollow(models.Model):
    """How far what was given by a request has come in one backend, as of the last look there."""

    request = models.ForeignKey(AccessRequest, models.CASCADE, related_name="deliveries")
    backend = models.ForeignKey(Backend, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=FOLLOW.choices, default=FOLLOW.initial)
    revision = models.BigIntegerField()
    since = models.DateTimeField()
    text = models.TextField(blank=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["request", "backend"], name="one_delivery_a_backend")]
        indexes = [models.Index(fields=["backend"], condition=~Q(state="proved"), name="deliveries_open")]

    def __str__(self) -> str:
        return f"request {self.request_id} in backend {self.backend_id}"


class RequestRule(models.Model):
    """What a request for an object, and for everything inside, must say; None inherits from the parent.

    `ticket` is a form such as `DATA-#`: `#` stands for digits, `@` for capital letters; empty: none needed.
    `plan_approval`, of a realm alone, says which plans of policy files another person has to approve.
    """

    class PlanApproval(models.TextChoices):
        NEVER = "never", "never"
        REMOVALS = "removals", "when a plan removes or changes something"
        ALWAYS = "always", "always"

    securable = models.OneToOneField(Securable, models.CASCADE, primary_key=True, related_name="request_rule")
    min_reason = models.PositiveSmallIntegerField(null=True)
    ticket = models.CharField(max_length=100, null=True)  # noqa: DJ001 - empty says that none is needed
    escalate_hours = models.PositiveIntegerField(null=True)
    lapse_hours = models.PositiveIntegerField(null=True)
    longest_days = models.PositiveIntegerField(null=True)
    """No access for longer than so many days; 0 for no limit."""
    plan_approval = models.CharField(max_length=8, null=True, choices=PlanApproval)  # noqa: DJ001 - as above

    def __str__(self) -> str:
        return f"rule of requests for {self.securable_id}"


class Substitute(Sealed):
    """While `person` is away `deputy` decides requests in their place, from one moment until another."""

    SEALED = ("person_id", "deputy_id", "starts", "ends", "ended_at")

    person = models.ForeignKey(Principal, models.PROTECT, related_name="substitutes")
    deputy = models.ForeignKey(Principal, models.PROTECT, related_name="substitutions")
    starts = models.DateTimeField()
    ends = models.DateTimeField()
    made_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    """When it was cancelled before its end."""

    class Meta:
        indexes = [
            models.Index(fields=["deputy"], condition=Q(ended_at__isnull=True), name="substitutions_of"),
            models.Index(fields=["person"], condition=Q(ended_at__isnull=True), name="substitutes_of"),
        ]

    def __str__(self) -> str:
        return f"{self.deputy} for {self.person}"
