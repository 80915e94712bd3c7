import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0009_origin_of_the_directory"),
        ("policies", "0055_calculations"),
    ]

    operations = [
        migrations.CreateModel(
            "AppliedFile",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seal", models.BinaryField(editable=False, null=True)),
                ("edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ("scope", models.CharField(max_length=64)),
                (
                    "owns",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None),
                ),
                ("registers_objects", models.BooleanField()),
                ("statements", models.JSONField()),
                ("revision", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                (
                    "realm",
                    models.ForeignKey(
                        "catalog.Realm", django.db.models.deletion.CASCADE, related_name="applied_files"
                    ),
                ),
            ],
            {
                "constraints": [
                    models.UniqueConstraint(fields=["realm", "scope"], name="one_applied_file_a_scope")
                ]
            },
        ),
    ]
