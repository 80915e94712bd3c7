"""By which identity provider an account is signed in to, and as whom there."""

from __future__ import annotations

from django.db import models

from accounts.models.users import User


class ExternalSignIn(models.Model):
    """An account is known to an identity provider: by who issues and the number there, never by a name."""

    account = models.ForeignKey(User, models.CASCADE, related_name="external_sign_ins")
    provider = models.CharField(max_length=64)
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_a_subject"),
            models.UniqueConstraint(fields=["account", "issuer"], name="one_subject_an_issuer"),
        ]

    def __str__(self) -> str:
        return f"{self.account} by {self.provider}"
