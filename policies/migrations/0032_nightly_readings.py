"""Sources that were read once are read again each night, and whose an object is there is kept."""

from django.db import migrations, models
from django.db.models import Max


def when_last_read(apps, schema_editor):
    Backend, Discovery = (apps.get_model("policies", name) for name in ("Backend", "Discovery"))
    read = Discovery.objects.filter(error="", finished__isnull=False).values_list("backend")
    for backend, finished in read.annotate(Max("finished")):
        Backend.objects.filter(pk=backend).update(read_at=finished)


class Migration(migrations.Migration):
    dependencies = [("policies", "0031_facets_found")]

    operations = [
        migrations.AddField("backend", "read_at", models.DateTimeField(null=True)),
        migrations.AddField("backend", "read_nightly", models.BooleanField(default=True)),
        migrations.CreateModel(
            "FoundOwner",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.TextField()),
                (
                    "backend",
                    models.ForeignKey("policies.backend", models.CASCADE, related_name="found_owners"),
                ),
                (
                    "securable",
                    models.OneToOneField("catalog.securable", models.CASCADE, related_name="found_owner"),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["backend", "name"], name="found_owners_by_name")],
            },
        ),
        migrations.RunPython(when_last_read, migrations.RunPython.noop, elidable=True),
    ]
