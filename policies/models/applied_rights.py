"""What the console wrote into systems that can bear no mark of whose a right is."""

from __future__ import annotations

from django.db import models

from policies.models.states import Move, States

WRITTEN = States(
    "written right",
    "giving",
    {
        "giving": "being given",
        "there": "given",
        "taking": "being taken",
        "shared": "given by others too",
    },
    (
        Move("prove", ("giving", "taking"), "there", "A look found it there."),
        Move("take", ("giving", "there"), "taking", "Written down before it is taken in the backend."),
        Move("repeat", ("there", "taking"), "giving", "It is wanted and was not there: it is given again."),
        Move("own", ("shared",), "there", "What others gave was adopted or revoked: it is ours alone."),
    ),
)


class Written(models.Model):
    """One right that a connection gave, or has set out to give, by the connection's lasting mark.

    Written before the call that gives the right and deleted after the one that takes it, so that a right of
    ours is never taken for somebody else's.  `shared`: it was there already when we came to give it.
    """

    mark = models.CharField(max_length=64)
    holder = models.TextField()
    type = models.CharField(max_length=32)
    path = models.JSONField(default=list)
    right = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=WRITTEN.choices, default=WRITTEN.initial)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mark", "holder", "type", "path", "right"], name="written_once_each"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.right} to {self.holder}"


class Peer(models.Model):
    """What a connection to another server learnt of it: the number of its site when it is a console too.

    `source` and `target` name the realms on both ends, each within its own site.
    """

    mark = models.CharField(max_length=64, unique=True)
    site = models.CharField(max_length=64, blank=True)
    source = models.CharField(max_length=255)
    target = models.CharField(max_length=255)
    asked = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.source} to {self.target}"
