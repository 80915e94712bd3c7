"""Who facts speak of, and the one map from pseudonyms to names."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models.functions import Upper
from django.utils.translation import gettext_lazy

from accounts.models.sealing import Sealed
from lakewarden.law import principals as law


def make_pseudonym() -> str:
    return secrets.token_hex(8)


class Principal(Sealed):
    """A user, group or service account; history knows only its `pseudonym`, so names can be redacted.

    Sealed: who could write names into the database would else swap two people's, and so their rights.
    """

    SEALED = ("kind", "name", "display_name", "pseudonym", "erased")

    class Kind(models.TextChoices):
        USER = "user", gettext_lazy("person")
        GROUP = "group", gettext_lazy("group")
        SERVICE = "service", gettext_lazy("service account")
        PATTERN = "pattern", gettext_lazy("name pattern")

    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=255)
    display_name = models.CharField(max_length=255, blank=True)
    pseudonym = models.CharField(max_length=16, unique=True, default=make_pseudonym)
    erased = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="one_principal_a_name")]
        indexes = [models.Index(Upper("name"), name="principals_in_any_case")]

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def label(self) -> str:
        """The name to show: the display name, else the name."""
        if self.erased:
            return "an erased person"
        return self.display_name or self.name

    @property
    def is_as_written(self) -> bool:
        """Whether this is how the console wrote them; so is somebody who is in no table yet."""
        return self._state.adding or self.is_sealed

    @property
    def ref(self) -> law.Principal:
        return law.Principal(self.kind, self.name)
