"""Objects of a realm: their identity, which survives a rename, and where they stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q, TextField
from django.db.models.functions import Collate, Upper

from accounts.fact_content import content as content_of
from accounts.models.sealing import Sealed
from accounts.record import Fact
from accounts.seals import is_sealed
from catalog.models.realms import Realm

FOLDED = Collate(Upper("name"), "C")
"""A name as it is sorted and its beginning sought, in any case of its letters."""
PIECES = Func(F("name"), function="name_pieces", output_field=ArrayField(TextField()))
"""Each three letters that stand together in a name, by which its parts are found."""


class Securable(models.Model):
    """An object's identity.  Dropped and made again under the same name it is another object."""

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="securables")
    type = models.CharField(max_length=24)
    external_id = models.CharField(max_length=255, blank=True)
    opened = models.BigIntegerField()
    closed = models.BigIntegerField(null=True)

    class Meta:
        permissions = [
            ("view_history", "May read the history of it and of what is below"),
            ("export_history", "May export that history"),
            ("review_access", "May review access to it"),
            ("approve_requests", "May decide requests for it"),
            ("operate_sync", "May run, pause and repair its sync"),
            ("connect_backend", "May connect it to a backend"),
            ("break_glass", "May take access in an emergency"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.pk}"


class Placement(Fact):
    """Where an object stands and what it is called there.

    `parent` is the object above (rights come down from it); `scope` is the object its name is unique in, and
    differs from the parent for nested schemas alone: `A:B` stands below `A` but is a name of the catalog.
    `ancestors` runs from the realm's root to the parent.
    """

    securable = models.ForeignKey(Securable, models.PROTECT, related_name="placements")
    type = models.CharField(max_length=24)
    name = models.CharField(max_length=300)  # a personal role's name is longer than its person's
    parent = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="children")
    scope = models.ForeignKey(Securable, models.PROTECT, null=True, related_name="names")
    ancestors = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "type", "name"], condition=Q(closed__isnull=True), name="one_object_a_name"
            ),
            models.UniqueConstraint(
                fields=["name"], condition=Q(closed__isnull=True, scope__isnull=True), name="one_realm_a_name"
            ),
            models.UniqueConstraint(
                fields=["securable"], condition=Q(closed__isnull=True), name="one_place_an_object"
            ),
        ]
        indexes = [
            models.Index(
                fields=["parent", "type", "name"], condition=Q(closed__isnull=True), name="placement_children"
            ),
            GinIndex(fields=["ancestors"], name="placement_ancestors"),
            models.Index(
                fields=["securable"],
                condition=Q(type="schema", name__contains=":"),
                name="schemas_with_a_colon",
            ),
            models.Index(
                "scope", "type", Upper("name"), condition=Q(closed__isnull=True), name="names_in_any_case"
            ),
            models.Index("parent", FOLDED, "id", condition=Q(closed__isnull=True), name="children_in_order"),
            models.Index(FOLDED, "id", condition=Q(closed__isnull=True), name="names_in_order"),
            GinIndex(PIECES, condition=Q(closed__isnull=True), name="names_by_pieces"),
        ]

    def __str__(self) -> str:
        return self.name


class Detail(Sealed):
    """What is said about an object: no fact of access, so simply kept up to date.

    `properties` is the site's own (a catalog's `type`, `provider`, whether it is `connected`); `content` is
    what a client said: its `properties`, with secrets sealed, and what only that type of object has, such
    as a table's `partitioning` or a model's `versions`.  `altered` is the revision of the last such change.
    The seal is over what something is decided by: see `deciding`.
    """

    SEALED = ("properties", "content")

    securable = models.OneToOneField(Securable, models.CASCADE, primary_key=True, related_name="detail")
    comment = models.TextField(blank=True)
    properties = models.JSONField(default=dict)
    columns = models.JSONField(default=list)
    content = models.JSONField(default=dict)
    altered = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["securable"],
                condition=Q(content__has_key="storageLocations") | Q(content__properties__has_key="location"),
                name="details_with_a_location",
            ),
        ]

    def __str__(self) -> str:
        return self.comment

    def _content(self) -> bytes:
        return _sealed_content(self.pk, self.edition, deciding(self.properties, self.content))


def deciding(properties: Any, content: Any) -> list[Any]:
    """What of that which is said about an object something is decided by.

    Where its data lies, whom its programs run as, whether it is used, and whether a source says what is in
    it.
    """
    sent, own = _mapping(content), _mapping(properties)
    location = _mapping(sent.get("properties")).get("location")
    return [
        sent.get("storageLocations"),
        location,
        sent.get("principal"),
        sent.get("in_use"),
        own.get("connected"),
    ]


def is_detail_sealed(pk: int, edition: int, decides: list[Any], seal: bytes | memoryview | None) -> bool:
    """Whether a row was written by this console, by its columns alone."""
    return is_sealed(_sealed_content(pk, edition, decides), seal)


def _sealed_content(pk: int, edition: int, decides: list[Any]) -> bytes:
    return content_of("detail", pk, edition, None, json.dumps(decides, sort_keys=True))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class Mark(models.Model):
    """A tag or policy was put on an object or on one of its columns; no right follows from it."""

    mark = models.ForeignKey(Securable, models.CASCADE, related_name="marked")
    securable = models.ForeignKey(Securable, models.CASCADE, related_name="marks")
    column = models.CharField(max_length=255, blank=True)
    made = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["securable", "column", "mark"], name="one_mark_each"),
        ]

    def __str__(self) -> str:
        return f"{self.mark_id} on {self.securable_id}"
