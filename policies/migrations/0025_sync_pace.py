"""How fast a backend is changed, when it was last looked at and compared, and what each step is about."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0024_archives"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="compared_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="backend",
            name="looked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="backend",
            name="paced_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="backend",
            name="rate",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="backend",
            name="seen",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="syncitem",
            name="places",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), default=list, size=None
            ),
        ),
        migrations.AddIndex(
            model_name="syncitem",
            index=django.contrib.postgres.indexes.GinIndex(fields=["places"], name="items_places"),
        ),
    ]
