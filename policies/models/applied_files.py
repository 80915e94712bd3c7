"""What policy files said when they were applied, to hold against it what is changed by hand since."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import UniqueConstraint

from accounts.models.sealing import Sealed
from catalog.models import Realm


class AppliedFile(Sealed):
    """The last file that was applied of those that own the same parts of a realm.

    `scope` is a digest of what it `owns`, sorted.  `statements` are what it says, each as its fields in their
    order, people by pseudonym, so that no name of a person is kept.  `revision` is the change that applied
    it.
    """

    SEALED = ("realm_id", "scope", "owns", "registers_objects", "statements", "revision", "at")

    realm = models.ForeignKey(Realm, models.CASCADE, related_name="applied_files")
    scope = models.CharField(max_length=64)
    owns = ArrayField(models.TextField())
    registers_objects = models.BooleanField()
    statements = models.JSONField()
    revision = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["realm", "scope"], name="one_applied_file_a_scope")]

    def __str__(self) -> str:
        return f"file that owns {', '.join(self.owns)}, applied by change {self.revision}"
