"""Runs of the data pipelines, and what they brought back for the console: figures and hints."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models import Principal
from catalog.models import Realm, Securable
from policies.models.states import Move, States

RUNS = States(
    "run",
    "waiting",
    {
        "waiting": "waiting",
        "running": "under way",
        "done": "done",
        "failed": "failed",
        "stopped": "stopped",
    },
    (
        Move("start", ("waiting",), "running", "A worker takes it: one run a realm at a time."),
        Move("finish", ("running",), "done", "Its result is whole and in its place."),
        Move("fail", ("running",), "failed", "It ended early and says why; the result before it stays."),
        Move("stop", ("waiting", "running"), "stopped", "Somebody stopped it; the result before it stays."),
        Move(
            "resume", ("failed", "stopped"), "waiting", "Started again: what was finished is not done twice."
        ),
        Move(
            "repeat", ("done",), "waiting", "Started again later: windows and uses go on without a revision."
        ),
    ),
)


class PipelineRun(models.Model):
    """One pipeline over one realm as it was at a revision; over the whole site where `realm` is null.

    Asked for twice it is one run.  `done` of `total` are steps of work, in no unit; `step` says what is being
    done.  `master` is the Spark it ran on, empty where the console's own database did the work.  `folder` is
    where the files of the last good result lie, below the site's own folder.  `result` are its figures.
    """

    name = models.CharField(max_length=32)
    realm = models.ForeignKey(Realm, models.PROTECT, null=True, related_name="pipelines")
    revision = models.BigIntegerField()
    state = models.CharField(max_length=8, choices=RUNS.choices, default=RUNS.initial)
    asked = models.DateTimeField()
    by = models.CharField(max_length=40)
    wished = models.TextField(blank=True)
    """The Spark that the requester named; empty for the site's own choice."""
    master = models.TextField(blank=True)
    started = models.DateTimeField(null=True)
    told = models.DateTimeField(null=True)
    """When it was last heard of."""
    ended = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    step = models.CharField(max_length=200, blank=True)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    trouble = models.TextField(blank=True)
    folder = models.TextField(blank=True)
    result = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "realm", "revision"], name="one_run_a_revision"),
            models.UniqueConstraint(
                fields=["name", "revision"], condition=Q(realm__isnull=True), name="one_site_run_a_revision"
            ),
            models.UniqueConstraint(
                fields=["realm"], condition=Q(state="running"), name="one_pipeline_at_a_time"
            ),
        ]
        indexes = [models.Index(fields=["realm", "name", "-revision"], name="pipeline_runs_latest")]

    def __str__(self) -> str:
        return f"{self.name} of realm {self.realm_id} at {self.revision}"


class Figure(models.Model):
    """One line of the latest effective access of a realm: an object, a role or a person, and its numbers.

    Only the foremost of each kind are kept.  `numbers` are people by action for an object, objects by action
    for a role or person; `weight` is what the lines are ordered by.
    """

    class Kind(models.TextChoices):
        OBJECT = "object", "most exposed objects"
        ROLE = "role", "broadest roles"
        PERSON = "person", "people who reach most"

    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="figures")
    realm = models.ForeignKey(Realm, models.PROTECT, related_name="figures")
    kind = models.CharField(max_length=8, choices=Kind)
    place = models.IntegerField()
    securable = models.ForeignKey(Securable, models.CASCADE, null=True, related_name="figures")
    principal = models.ForeignKey(Principal, models.CASCADE, null=True, related_name="figures")
    weight = models.BigIntegerField()
    numbers = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["realm", "kind", "place"], name="one_figure_a_place")]

    def __str__(self) -> str:
        return f"{self.kind} {self.place} of realm {self.realm_id}"


class Hint(models.Model):
    """Something that could be tighter: what, on which object, for whom, and on what ground.

    `kind` is a code of the hints; whose sentence `data` fills; no name of a person is in it.
    `key` stays the same from run to run, so that a hint once dismissed is not brought again.  `people` are
    concerned; `revision` is the one it was found at.
    """

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="hints")
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="hints")
    kind = models.CharField(max_length=24)
    key = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    found = models.DateTimeField()
    seen = models.DateTimeField()
    securable = models.ForeignKey(Securable, models.CASCADE, null=True, related_name="hints")
    role = models.ForeignKey(Securable, models.CASCADE, null=True, related_name="hints_of_role")
    other_role = models.ForeignKey(Securable, models.CASCADE, null=True, related_name="hints_of_other_role")
    holder = models.ForeignKey(Principal, models.CASCADE, null=True, related_name="hints")
    grant = models.BigIntegerField(null=True)
    """The fact it is about, where it is about one."""
    pattern = models.TextField(blank=True)
    privilege = models.CharField(max_length=32, blank=True)
    people = models.IntegerField(default=0)
    data = models.JSONField(default=dict)
    dismissed = models.DateTimeField(null=True)
    dismissed_by = models.ForeignKey(Principal, models.SET_NULL, null=True, related_name="+")
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["realm", "key"], name="one_hint_each")]
        indexes = [
            models.Index(fields=["securable"], name="hints_on_object"),
            models.Index(fields=["role"], name="hints_on_role"),
            models.Index(fields=["holder"], name="hints_on_holder"),
            models.Index(fields=["realm", "-people", "id"], name="hints_weightiest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
