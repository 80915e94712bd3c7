"""Governed worlds: a metalake, a Herd, a CDAP instance."""

from __future__ import annotations

from django.db import models

from accounts.models.sealing import Sealed
from accounts.record import Fact, one_open

LAW_SQL = "CASE r.kind WHEN 'cdap' THEN r.kind || replace(r.settings->>'policy', '.', '') ELSE r.kind END"
"""`Realm.law` of a row `r`, for statements that read many."""


class Realm(Sealed):
    """One governed world; its kind and settings name its law, its name is the placement of its root object.

    Settings of a CDAP realm: `policy` (3.4, 3.5, 4.3), `authentication` (on, off), `master_user`,
    `admin_group`, `grants` (anybody, roles).
    """

    SEALED = ("kind", "settings")

    class Kind(models.TextChoices):
        GRAVITINO = "gravitino", "Gravitino metalake"
        HERD = "herd", "Herd"
        CDAP = "cdap", "CDAP instance"

    kind = models.CharField(max_length=16, choices=Kind)
    settings = models.JSONField(default=dict)
    opened = models.BigIntegerField()
    closed = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.kind} realm {self.pk}"

    @property
    def law(self) -> str:
        """The code of its dialect: its kind, and for CDAP the generation of rules too (`cdap43`)."""
        if self.kind != self.Kind.CDAP:
            return self.kind
        return self.kind + str(self.settings.get("policy", "")).replace(".", "")


class Mode(Fact):
    """Whether a realm's law is enforced: on, off or pass-through."""

    class Choice(models.TextChoices):
        ON = "on", "on"
        OFF = "off", "off"
        PASS_THROUGH = "pass-through", "pass-through"

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="modes")
    mode = models.CharField(max_length=16, choices=Choice)

    class Meta:
        constraints = [one_open("one_open_mode", "realm")]

    def __str__(self) -> str:
        return self.mode
