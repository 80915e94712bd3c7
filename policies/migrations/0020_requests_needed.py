from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0019_requests")]

    operations = [
        migrations.RemoveIndex(model_name="requestwant", name="wants_ending"),
        migrations.RemoveField(model_name="requestwant", name="reminded"),
        migrations.RemoveField(model_name="requestpart", name="wants"),
        migrations.AddField(
            model_name="requestpart", name="needed", field=models.JSONField(default=dict)
        ),
        migrations.AddField(
            model_name="accessrequest",
            name="lineage",
            field=ArrayField(base_field=models.BigIntegerField(), default=list, size=None),
        ),
    ]
