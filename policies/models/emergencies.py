"""What somebody opened for themselves in an emergency, and the review that has to follow."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Principal
from catalog.models import Realm, Securable
from policies.models.states import Move, States

EMERGENCY = States(
    "emergency",
    "open",
    {"open": "open", "ended": "waiting for its review", "closed": "reviewed and closed"},
    (
        Move(
            "end",
            ("open",),
            "ended",
            "Its time is over, or the person who opened it or an approver of the object ended it sooner.",
        ),
        Move(
            "close",
            ("ended",),
            "closed",
            "Another approver of the object reviewed what was done and closed it with a statement.",
        ),
    ),
)
"""The access itself ends by its window, to the second, whatever state this is in."""


class Emergency(models.Model):
    """`person` opened an object until `until`; `revision` is the change that gave the rights."""

    person = models.ForeignKey(Principal, models.PROTECT, related_name="emergencies")
    realm = models.ForeignKey(Realm, models.PROTECT, related_name="emergencies")
    securable = models.ForeignKey(Securable, models.PROTECT, related_name="emergencies")
    privileges = ArrayField(models.CharField(max_length=32))
    reason = models.TextField()
    request_id = models.CharField(max_length=64, blank=True)
    opened = models.DateTimeField()
    until = models.DateTimeField()
    revision = models.BigIntegerField()
    state = models.CharField(max_length=8, choices=EMERGENCY.choices, default=EMERGENCY.initial)
    ended = models.DateTimeField(null=True)
    reviewer = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    verdict = models.TextField(blank=True)
    reviewed = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "securable"], condition=Q(state="open"), name="one_open_emergency"
            ),
            models.CheckConstraint(
                condition=~Q(state="closed") | (Q(reviewer__isnull=False) & ~Q(verdict="")),
                name="emergency_closed_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(reviewer__isnull=True) | ~Q(reviewer=models.F("person")),
                name="emergency_closed_by_another",
            ),
        ]
        indexes = [
            models.Index(fields=["person", "-id"], name="emergencies_of_person"),
            models.Index(fields=["securable", "-id"], name="emergencies_of_object"),
            models.Index(fields=["until"], condition=~Q(state="closed"), name="emergencies_to_review"),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} on {self.securable_id} until {self.until}"
