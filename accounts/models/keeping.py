"""Who answers for a service account."""

from __future__ import annotations

from django.db import models

from accounts.models.principals import Principal
from accounts.record import Fact


class Keeping(Fact):
    """A person or a group answers for a service account, and makes its tokens."""

    service = models.ForeignKey(Principal, models.PROTECT, related_name="keepings_of")
    keeper = models.ForeignKey(Principal, models.PROTECT, related_name="keepings")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["service"], condition=models.Q(closed__isnull=True), name="one_open_keeper"
            )
        ]

    def __str__(self) -> str:
        return f"{self.keeper} keeps {self.service}"
