"""One row says which database this is; entries keep since when they are due; who does not answer has a state."""

from django.db import migrations, models
from django.db.models import Q

STATES = [
    ("new", "not yet compared"),
    ("in_sync", "in sync"),
    ("behind", "behind"),
    ("failed", "failed"),
    ("paused", "paused"),
    ("held", "held"),
    ("silent", "not answering"),
]


def keep_one(apps, schema_editor):
    """Two workers that started at once wrote a row each; the one that was compared with was the first."""
    rows = apps.get_model("policies", "DatabaseIdentity").objects.order_by("id")
    first = rows.first()
    if first is not None:
        rows.exclude(id=first.id).delete()
        rows.update(id=1)


def answering(apps, schema_editor):
    apps.get_model("policies", "Backend").objects.filter(state="silent").update(state="behind")


class Migration(migrations.Migration):
    dependencies = [("policies", "0034_sources")]

    operations = [
        migrations.RunPython(keep_one, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            "databaseidentity", models.CheckConstraint(condition=Q(id=1), name="one_database_identity")
        ),
        migrations.AddField("outboxentry", "since", models.DateTimeField(null=True)),
        migrations.AlterField(
            "backend", "state", models.CharField(choices=STATES, default="new", max_length=8)
        ),
        migrations.RunPython(migrations.RunPython.noop, answering, elidable=True),
        migrations.CreateModel(
            "Heartbeat",
            [
                ("name", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
