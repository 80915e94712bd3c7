"""Indexes of what changes are found by; they replace those of words alone.  Nobody waits while they are made."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.expressions
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("policies", "0030_facets"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="change",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(
                    "revision",
                    "actor",
                    function="lakewarden_change_facets",
                    output_field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField()),
                ),
                models.Func(
                    "revision",
                    "reason",
                    function="lakewarden_words",
                    output_field=django.contrib.postgres.search.SearchVectorField(),
                ),
                gin_pending_list_limit=64,
                name="changes_by_facets",
            ),
        ),
        AddIndexConcurrently(
            model_name="change",
            index=models.Index(
                django.db.models.expressions.CombinedExpression(models.F("revision"), ">>", models.Value(14)),
                models.F("at"),
                name="changes_of_block",
            ),
        ),
        AddIndexConcurrently(
            model_name="event",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(
                    "change",
                    "kind",
                    "lineage",
                    "people",
                    function="lakewarden_event_facets",
                    output_field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField()),
                ),
                models.Func(
                    "change",
                    "object_name",
                    function="lakewarden_words",
                    output_field=django.contrib.postgres.search.SearchVectorField(),
                ),
                gin_pending_list_limit=64,
                name="events_by_facets",
            ),
        ),
        RemoveIndexConcurrently(model_name="change", name="changes_by_words"),
        RemoveIndexConcurrently(model_name="event", name="events_by_words"),
    ]
