import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_browser_language"),
        ("catalog", "0009_origin_of_the_directory"),
        ("policies", "0054_plans_that_need_approval"),
    ]

    operations = [
        migrations.CreateModel(
            "Calculation",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64, unique=True)),
                ("revision", models.BigIntegerField()),
                ("sight", models.CharField(blank=True, max_length=64)),
                ("plan", models.CharField(blank=True, max_length=64)),
                ("changes", models.JSONField()),
                ("at", models.DateTimeField()),
                ("days", models.IntegerField(null=True)),
                ("asked", models.DateTimeField(auto_now_add=True)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(default=0)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("progress_at", models.DateTimeField(null=True)),
                ("result", models.JSONField(null=True)),
                ("trouble", models.TextField(blank=True)),
                (
                    "by",
                    models.ForeignKey(
                        "accounts.Principal", django.db.models.deletion.CASCADE, related_name="+"
                    ),
                ),
                (
                    "realm",
                    models.ForeignKey(
                        "catalog.Realm", django.db.models.deletion.CASCADE, related_name="calculations"
                    ),
                ),
            ],
        ),
    ]
