"""How somebody looks at the long lists of the console."""

from __future__ import annotations

from django.db import models

from accounts.models.users import User


class ListView(models.Model):
    """A list as one account looks at it; without a name it is how the list opens for them.

    `table` is the code of the list, `columns` the codes of those that are shown beside the ones that always
    are, `query` the filters and the order, as they stand in the list's address.
    """

    account = models.ForeignKey(User, models.CASCADE, related_name="list_views")
    table = models.CharField(max_length=32)
    name = models.CharField(max_length=60, blank=True)
    columns = models.JSONField(default=list)
    query = models.CharField(max_length=1000, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "table", "name"], name="one_list_view_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name or 'opening view'} of {self.table} for {self.account}"
