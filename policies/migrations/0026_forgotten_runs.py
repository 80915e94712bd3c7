"""How many old runs were deleted, so that counters only ever rise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0025_sync_pace"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="forgotten",
            field=models.JSONField(default=dict),
        ),
    ]
