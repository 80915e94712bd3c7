"""What jobs really used, as they told it: no fact of access, but what hints at grants nobody needs."""

from __future__ import annotations

from django.db import models

from accounts.models import Principal
from catalog.models import Realm, Securable


class Use(models.Model):
    """In one run somebody did something to an object, or, where not `executed`, only prepared to.

    `reporter` reported it; the name of the `run` is up to them, and a use reported twice is one use.
    """

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="uses")
    reporter = models.ForeignKey(Principal, models.PROTECT, related_name="reports")
    run = models.CharField(max_length=200)
    principal = models.ForeignKey(Principal, models.PROTECT, related_name="uses")
    securable = models.ForeignKey(Securable, models.PROTECT, related_name="uses")
    action = models.CharField(max_length=64)
    executed = models.BooleanField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["reporter", "realm", "run", "principal", "securable", "action"], name="one_use_a_run"
            )
        ]
        indexes = [
            models.Index(fields=["securable", "-at"], name="uses_of_object"),
            models.Index(fields=["principal", "-at"], name="uses_of_principal"),
        ]

    def __str__(self) -> str:
        return f"{self.principal_id} {self.action} {self.securable_id} in {self.run}"
