"""The facts of access: who is in a realm, who holds which role, what a role or person may do, who owns."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q

from accounts.models import Principal
from accounts.record import Fact, one_open
from catalog.models import Realm, Securable

OPEN = Q(closed__isnull=True)
BY_TEXT = Q(securable__isnull=True)


class RealmMember(Fact):
    """A realm admits a principal."""

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="members")
    principal = models.ForeignKey(Principal, models.PROTECT, related_name="realms")

    class Meta:
        constraints = [one_open("one_open_realm_member", "realm", "principal")]

    def __str__(self) -> str:
        return f"{self.principal} in realm {self.realm_id}"


class Assignment(Fact):
    """A role is held by a person or group."""

    role = models.ForeignKey(Securable, models.PROTECT, related_name="assignments")
    holder = models.ForeignKey(Principal, models.PROTECT, related_name="assignments")

    class Meta:
        constraints = [one_open("one_open_assignment", "role", "holder")]

    def __str__(self) -> str:
        return f"{self.holder} holds role {self.role_id}"


class Effect(models.TextChoices):
    ALLOW = "allow", "allow"
    DENY = "deny", "deny"


class Grant(Fact):
    """A privilege on an object, or on a text, given to a role or straight to a principal.

    A text (`pattern`) names what is in `realm`, exactly or like `dataset:ns1.*`, whether it exists or not.
    `written` keeps the privilege's name as the client wrote it where the law knows two names for one.
    """

    role = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="privileges")
    holder = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="grants")
    privilege = models.CharField(max_length=32)
    written = models.CharField(max_length=32, blank=True)
    effect = models.CharField(max_length=5, choices=Effect, default=Effect.ALLOW)
    securable = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="grants")
    realm = models.ForeignKey(Realm, models.PROTECT, null=True, related_name="texts")
    pattern = models.TextField(blank=True)

    class Meta:
        constraints = [
            one_open("one_open_role_grant", "role", "securable", "privilege", "effect", "pattern"),
            one_open("one_open_direct_grant", "holder", "securable", "privilege", "effect", "pattern"),
            one_open("one_open_role_text", "role", "privilege", "pattern", where=BY_TEXT),
            one_open("one_open_direct_text", "holder", "realm", "privilege", "pattern", where=BY_TEXT),
            CheckConstraint(
                condition=Q(role__isnull=False, holder__isnull=True)
                | Q(role__isnull=True, holder__isnull=False),
                name="grant_has_one_holder",
            ),
            CheckConstraint(
                condition=Q(securable__isnull=False, realm__isnull=True, pattern="")
                | Q(securable__isnull=True, realm__isnull=False) & ~Q(pattern=""),
                name="grant_has_one_target",
            ),
        ]
        indexes = [
            models.Index(fields=["role"], condition=OPEN, name="open_grants_of_role"),
            models.Index(fields=["holder"], condition=OPEN, name="open_grants_of_holder"),
            models.Index(fields=["securable"], condition=OPEN, name="open_grants_on_object"),
            models.Index(fields=["realm", "pattern"], condition=OPEN & BY_TEXT, name="open_grants_on_texts"),
        ]

    def __str__(self) -> str:
        return f"{self.effect} {self.privilege} on {self.securable_id or self.pattern}"


class Ownership(Fact):
    """An object belongs to a person or group."""

    securable = models.ForeignKey(Securable, models.PROTECT, related_name="ownerships")
    owner = models.ForeignKey(Principal, models.PROTECT, related_name="ownerships")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["securable"], condition=OPEN, name="one_open_owner"),
        ]
        indexes = [models.Index(fields=["owner"], condition=OPEN, name="open_ownerships")]

    def __str__(self) -> str:
        return f"{self.owner} owns {self.securable_id}"
