import django.db.models.deletion
from django.db import migrations, models

NEEDED = [
    ("never", "never"),
    ("removals", "when a plan removes or changes something"),
    ("always", "always"),
]
KINDS = [("privilege", "privileges"), ("membership", "membership"), ("role", "role"), ("plan", "plan")]


class Migration(migrations.Migration):
    dependencies = [("policies", "0053_seals_of_the_directory")]

    operations = [
        migrations.AddField(
            "requestrule", "plan_approval", models.CharField(choices=NEEDED, max_length=8, null=True)
        ),
        migrations.AlterField("requestpart", "kind", models.CharField(choices=KINDS, max_length=10)),
        migrations.CreateModel(
            "PlannedFile",
            [
                (
                    "request",
                    models.OneToOneField(
                        "policies.AccessRequest",
                        django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="planned_file",
                        serialize=False,
                    ),
                ),
                ("plan", models.CharField(max_length=64)),
                ("revision", models.BigIntegerField()),
                ("file", models.TextField()),
                ("steps", models.JSONField()),
            ],
            {"indexes": [models.Index(fields=["plan"], name="planned_files_by_plan")]},
        ),
    ]
