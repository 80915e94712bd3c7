from django.db import migrations, models


class Migration(migrations.Migration):
    """Notices that were kept as a text alone stay so, and read as they did."""

    dependencies = [("policies", "0048_seals_of_seats")]

    operations = [
        migrations.AddField("notice", "code", models.CharField(blank=True, db_default="", default="", max_length=60)),
        migrations.AddField("notice", "data", models.JSONField(db_default={}, default=dict)),
    ]
