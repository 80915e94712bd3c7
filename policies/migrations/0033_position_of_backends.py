"""A backend that is dear to read is asked for its position in between."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0032_nightly_readings")]

    operations = [
        migrations.AddField("backend", "whole_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "backend",
            "position",
            models.CharField(blank=True, default="", max_length=64),
            preserve_default=False,
        ),
    ]
