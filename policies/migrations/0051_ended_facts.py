import django.db.models.fields.json
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("policies", "0050_editions")]

    operations = [
        AddIndexConcurrently(
            "event",
            models.Index(
                django.db.models.fields.json.KeyTextTransform("fact", "data"),
                condition=models.Q(("data__has_key", "fact"), models.Q(("data__has_key", "state"), _negated=True)),
                name="events_by_ended_fact",
            ),
        ),
    ]
