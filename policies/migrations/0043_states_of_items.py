"""What a backend says of a right, a membership or an order stands with that very item."""

from django.db import migrations, models
from django.db.models import F


def compared(apps, schema_editor):
    backends = apps.get_model("policies", "Backend").objects
    backends.update(compared_revision=F("proved_revision"))


TRIED = (
    ("attempts", models.PositiveIntegerField(default=0)),
    ("tried_at", models.DateTimeField(null=True)),
    ("error_kind", models.CharField(blank=True, default="", max_length=16)),
)


class Migration(migrations.Migration):
    dependencies = [("policies", "0042_door")]

    operations = [
        migrations.AddField("backend", "compared_revision", models.BigIntegerField(default=0)),
        *(
            migrations.AddField(model, name, field.clone(), preserve_default=name == "attempts" or name == "tried_at")
            for model in ("backendfinding", "foreignorder")
            for name, field in TRIED
        ),
        migrations.AddField(
            "backendfinding", "error", models.TextField(blank=True, default=""), preserve_default=False
        ),
        migrations.AddField("backendfinding", "concerns", models.JSONField(null=True)),
        migrations.AddField("backendfinding", "hindered", models.JSONField(default=dict)),
        migrations.AddField("foreignorder", "dropped", models.BooleanField(default=False)),
        migrations.RunPython(compared, migrations.RunPython.noop),
    ]
