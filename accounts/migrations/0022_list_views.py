"""How people look at long lists: columns, views under a name, and how far the rows stand apart."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_disabled_by_directory"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="compact_lists",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="ListView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("table", models.CharField(max_length=32)),
                ("name", models.CharField(blank=True, max_length=60)),
                ("columns", models.JSONField(default=list)),
                ("query", models.CharField(blank=True, max_length=1000)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="list_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "table", "name"), name="one_list_view_a_name")
                ],
            },
        ),
    ]
