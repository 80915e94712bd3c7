import django.db.models.fields.json
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("policies", "0050_editions")]

    operations = [
        AddIndexConcurrently(
            "event",
            GinIndex(
                django.db.models.fields.json.KeyTransform("editions", "data"),
                condition=models.Q(data__has_key="editions"),
                name="events_by_edition",
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                django.db.models.fields.json.KeyTextTransform("fact", "data"),
                condition=models.Q(("data__has_key", "fact"), models.Q(("data__has_key", "state"), _negated=True)),
                name="events_by_ended_fact",
            ),
        ),
    ]
