"""The console's own duties on objects, kept by guardian with direct foreign keys."""

from __future__ import annotations

from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from catalog.models import Securable


class UserDuty(UserObjectPermissionBase):
    """A duty of one account on one object."""

    content_object = models.ForeignKey(Securable, models.CASCADE)
    seal = models.BinaryField(max_length=36, null=True)


class GroupDuty(GroupObjectPermissionBase):
    """A duty of one group on one object."""

    content_object = models.ForeignKey(Securable, models.CASCADE)
    seal = models.BinaryField(max_length=36, null=True)
