"""Who is in which group: the site's word, or the identity provider's, never a realm's."""

from __future__ import annotations

from django.db import models

from accounts.models.principals import Principal
from accounts.record import Fact, one_open


class Membership(Fact):
    """A person or service account is in a group."""

    group = models.ForeignKey(Principal, models.PROTECT, related_name="memberships_of")
    member = models.ForeignKey(Principal, models.PROTECT, related_name="memberships")

    class Meta:
        constraints = [one_open("one_open_membership", "group", "member")]

    def __str__(self) -> str:
        return f"{self.member} in {self.group}"
