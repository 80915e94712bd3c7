"""Realms and the objects in them: the tables of 0.1.0 as one migration.

Modes and placements are facts: the triggers that guard them are made by policies, see
policies/migrations/sql/facts.sql.
"""

import datetime

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models
from django.db.models.functions import Coalesce, Collate, Upper

ORIGINS = [
    ("hand", "by hand"),
    ("api", "through an API"),
    ("command", "by command"),
    ("discovered", "read from the source"),
    ("adopted", "adopted from a backend"),
    ("request", "asked for and approved"),
    ("emergency", "taken in an emergency"),
    ("system", "by the system"),
]
STARTS = Coalesce("valid_from", models.Value(datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), output_field=models.DateTimeField()))
ENDS = Coalesce("valid_until", models.Value(datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC), output_field=models.DateTimeField()))
OPEN = models.Q(("closed__isnull", True))

# what pg_trgm does, for servers that do not have it
NAME_PIECES = """
CREATE FUNCTION name_pieces(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT ARRAY(SELECT DISTINCT substr(upper(name), at, 3) FROM generate_series(1, length(upper(name)) - 2) AS at)
$$
"""


def _key():
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def _fact():
    return [
        ("id", _key()),
        ("opened", models.BigIntegerField()),
        ("closed", models.BigIntegerField(null=True)),
        ("valid_from", models.DateTimeField(null=True)),
        ("valid_until", models.DateTimeField(null=True)),
        ("origin", models.CharField(choices=ORIGINS, default="hand", max_length=16)),
    ]


class Migration(migrations.Migration):
    initial = True
    # a database that has applied all of them has what is here
    replaces = [
        ("catalog", name)
        for name in (
            "0001_initial",
            "0002_contents",
            "0003_names_in_any_case",
            "0004_names_by_pieces",
            "0005_children_in_order",
            "0006_located",
            "0007_origins",
            "0008_seals",
        )
    ]

    dependencies = []

    operations = [
        migrations.RunSQL(NAME_PIECES, "DROP FUNCTION name_pieces(text)"),
        migrations.CreateModel(
            name="Realm",
            fields=[
                ("id", _key()),
                (
                    "kind",
                    models.CharField(
                        choices=[("gravitino", "Gravitino metalake"), ("herd", "Herd"), ("cdap", "CDAP instance")], max_length=16
                    ),
                ),
                ("settings", models.JSONField(default=dict)),
                ("opened", models.BigIntegerField()),
                ("closed", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Mode",
            fields=[
                *_fact(),
                ("mode", models.CharField(choices=[("on", "on"), ("off", "off"), ("pass-through", "pass-through")], max_length=16)),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="modes", to="catalog.realm")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(models.F("realm"), models.F("origin"), STARTS, ENDS, condition=OPEN, name="one_open_mode")
                ]
            },
        ),
        migrations.CreateModel(
            name="Securable",
            fields=[
                ("id", _key()),
                ("type", models.CharField(max_length=24)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("opened", models.BigIntegerField()),
                ("closed", models.BigIntegerField(null=True)),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="securables", to="catalog.realm")),
            ],
            options={
                "permissions": [
                    ("view_history", "May read the history of it and of what is below"),
                    ("export_history", "May export that history"),
                    ("review_access", "May review access to it"),
                    ("approve_requests", "May decide requests for it"),
                    ("operate_sync", "May run, pause and repair its sync"),
                    ("connect_backend", "May connect it to a backend"),
                    ("break_glass", "May take access in an emergency"),
                ]
            },
        ),
        migrations.CreateModel(
            name="Placement",
            fields=[
                *_fact(),
                ("type", models.CharField(max_length=24)),
                ("name", models.CharField(max_length=300)),
                ("ancestors", ArrayField(models.BigIntegerField(), default=list)),
                ("parent", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="children", to="catalog.securable")),
                ("scope", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="names", to="catalog.securable")),
                ("securable", models.ForeignKey(on_delete=models.PROTECT, related_name="placements", to="catalog.securable")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=OPEN, fields=["parent", "type", "name"], name="placement_children"),
                    GinIndex(fields=["ancestors"], name="placement_ancestors"),
                    models.Index(models.F("scope"), models.F("type"), Upper("name"), condition=OPEN, name="names_in_any_case"),
                    models.Index(Collate(Upper("name"), "C"), models.F("id"), condition=OPEN, name="names_in_order"),
                    GinIndex(
                        models.Func(models.F("name"), function="name_pieces", output_field=ArrayField(models.TextField())),
                        condition=OPEN,
                        name="names_by_pieces",
                    ),
                    models.Index(models.F("parent"), Collate(Upper("name"), "C"), models.F("id"), condition=OPEN, name="children_in_order"),
                    models.Index(
                        condition=models.Q(("name__contains", ":"), ("type", "schema")), fields=["securable"], name="schemas_with_a_colon"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(condition=OPEN, fields=("scope", "type", "name"), name="one_object_a_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("closed__isnull", True), ("scope__isnull", True)), fields=("name",), name="one_realm_a_name"
                    ),
                    models.UniqueConstraint(condition=OPEN, fields=("securable",), name="one_place_an_object"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Detail",
            fields=[
                (
                    "securable",
                    models.OneToOneField(
                        on_delete=models.CASCADE, primary_key=True, related_name="detail", serialize=False, to="catalog.securable"
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("properties", models.JSONField(default=dict)),
                ("columns", models.JSONField(default=list)),
                ("altered", models.BigIntegerField(null=True)),
                ("content", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("content__has_key", "storageLocations"), ("content__properties__has_key", "location"), _connector="OR"
                        ),
                        fields=["securable"],
                        name="details_with_a_location",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Mark",
            fields=[
                ("id", _key()),
                ("column", models.CharField(blank=True, max_length=255)),
                ("made", models.BigIntegerField()),
                ("mark", models.ForeignKey(on_delete=models.CASCADE, related_name="marked", to="catalog.securable")),
                ("securable", models.ForeignKey(on_delete=models.CASCADE, related_name="marks", to="catalog.securable")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("securable", "column", "mark"), name="one_mark_each")]},
        ),
    ]
