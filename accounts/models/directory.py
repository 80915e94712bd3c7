"""Whom the company's directory keeps here: people and groups, and who it says is in which group."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from accounts.models.principals import Principal


def make_key() -> str:
    return uuid.uuid4().hex


class DirectoryEntry(models.Model):
    """A person or a group that the directory keeps, by the `key` it knows them by; `attributes` are what it
    says of names and mail.

    `is_active` is the directory's word: an account can be disabled by a site admin besides.  With `ended` the
    directory has deleted it; another of the same name gets another key.  `disabled_account` says that it was
    the directory that disabled the account: what others disabled it does not enable.
    """

    principal = models.OneToOneField(Principal, models.PROTECT, related_name="directory_entry")
    key = models.CharField(max_length=32, unique=True, default=make_key)
    external_id = models.CharField(max_length=255, blank=True, db_index=True)
    attributes = models.JSONField(default=dict)
    is_active = models.BooleanField(default=True)
    disabled_account = models.BooleanField(default=False, db_default=False)
    version = models.PositiveIntegerField(default=1)
    made = models.DateTimeField(default=timezone.now)
    changed = models.DateTimeField(default=timezone.now)
    ended = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.principal} of the directory"


class DirectoryMember(models.Model):
    """The directory says that a person is in a group; while they are active a fact of its own says so, too.

    Sealed as facts are, since it brings the fact back when somebody returns.  A row is never written anew:
    `edition` is that of each as long as it is there, and the record tells the next one when it is removed.
    """

    edition = 0

    group = models.ForeignKey(Principal, models.PROTECT, related_name="directory_members")
    member = models.ForeignKey(Principal, models.PROTECT, related_name="directory_groups")
    seal = models.BinaryField(max_length=36)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "member"], name="one_directory_member")]

    def __str__(self) -> str:
        return f"{self.member} in {self.group}"
