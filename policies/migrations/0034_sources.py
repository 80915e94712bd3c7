"""A source belongs to one connection, and what a reading leaves out is told."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0033_position_of_backends")]

    operations = [
        migrations.AddField(
            "backend",
            "source",
            models.CharField(blank=True, default="", max_length=255),
            preserve_default=False,
        ),
        migrations.AddField(
            "backend",
            "within",
            django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None),
        ),
        migrations.AddField("backend", "sole", models.BooleanField(default=True)),
        migrations.AddField(
            "backend",
            "awaits",
            models.CharField(
                blank=True,
                choices=[
                    ("new", "an operator has to agree to the new connection"),
                    ("moved", "it leads to another system than before"),
                    ("shared", "another connection governs the same system"),
                ],
                default="",
                max_length=8,
            ),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            "backend",
            models.UniqueConstraint(
                fields=["source"],
                condition=models.Q(("sole", True), models.Q(("source", ""), _negated=True)),
                name="a_source_has_one_connection",
            ),
        ),
        migrations.AddField(
            "discovery",
            "left_out",
            django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None),
        ),
        migrations.AddField("discovery", "left_out_count", models.IntegerField(default=0)),
    ]
