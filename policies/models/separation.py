"""Separation of duties: what nobody may have both of, and who may all the same, until when."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from accounts.models import Principal
from accounts.record import Fact
from catalog.models import Realm, Securable

OPEN = Q(closed__isnull=True)


def _side(name: str) -> Q:
    """A side is a role, or privileges on an object and what is below it."""
    role, thing, codes = f"{name}_role__isnull", f"{name}_object__isnull", f"{name}_privileges__len"
    return Q(**{role: False, thing: True, codes: 0}) | (Q(**{role: True, thing: False}) & ~Q(**{codes: 0}))


class SeparationRule(Fact):
    """In a realm nobody has both of two sides, each a role, or privileges on an object and below it."""

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="separations")
    name = models.CharField(max_length=100)
    one_role = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    one_object = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    one_privileges = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    other_role = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    other_object = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="+")
    other_privileges = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    owners = models.BooleanField(default=True)
    """Whether owning an object counts as having every right on it."""

    class Meta:
        constraints = [
            UniqueConstraint(fields=["realm", "name"], condition=OPEN, name="one_open_separation_a_name"),
            CheckConstraint(condition=_side("one"), name="one_side_is_whole"),
            CheckConstraint(condition=_side("other"), name="other_side_is_whole"),
        ]

    def __str__(self) -> str:
        return self.name


class SeparationException(Fact):
    """A person may have both sides of a rule until an end; `owner` answers for it."""

    rule = models.ForeignKey(SeparationRule, models.PROTECT, related_name="exceptions")
    person = models.ForeignKey(Principal, models.PROTECT, related_name="separation_exceptions")
    owner = models.ForeignKey(Principal, models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["rule", "person"], condition=OPEN, name="one_open_exception_a_person"),
            CheckConstraint(condition=Q(valid_until__isnull=False), name="exception_ends"),
        ]

    def __str__(self) -> str:
        return f"{self.person} from {self.rule_id}"
