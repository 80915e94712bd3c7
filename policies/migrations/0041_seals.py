"""Room for the seal that the writer puts on each fact, and a trigger that lets it be renewed.

What was written before has no seal yet: `manage.py facts --seal` puts one on whatever the record bears out.
"""

from django.db import migrations, models

ONLY_CLOSE = """
CREATE OR REPLACE FUNCTION lakewarden_only_close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {closing} AND to_jsonb(OLD){but} - 'closed' = to_jsonb(NEW){but} - 'closed' THEN RETURN NEW; END IF;
    IF TG_TABLE_NAME = 'catalog_placement' AND current_setting('lakewarden.redaction', true) = 'on' THEN
        IF OLD.closed IS NOT NULL AND OLD.type = 'role' AND OLD.name LIKE '~%' AND NEW.name LIKE '~%'
           AND to_jsonb(OLD){but} - 'name' = to_jsonb(NEW){but} - 'name' THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: a fact can only be closed', TG_TABLE_NAME;
END $$;
"""
BEFORE = ONLY_CLOSE.format(closing="OLD.closed IS NULL AND NEW.closed IS NOT NULL", but="")
SEALED = ONLY_CLOSE.format(closing="(OLD.closed IS NULL OR OLD.closed IS NOT DISTINCT FROM NEW.closed)", but=" - 'seal'")
SEALED_MODELS = (
    "assignment",
    "grant",
    "groupduty",
    "ownership",
    "realmmember",
    "separationexception",
    "separationrule",
    "userduty",
)


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0040_hourly_verification"),
        ("accounts", "0011_seals"),
        ("catalog", "0008_seals"),
    ]

    operations = [
        *(
            migrations.AddField(model, "seal", models.BinaryField(max_length=36, null=True))
            for model in SEALED_MODELS
        ),
        migrations.CreateModel(
            "UnsealedFact",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model", models.CharField(max_length=32)),
                ("row", models.BigIntegerField()),
                ("key", models.CharField(max_length=40)),
                ("realm", models.BigIntegerField(null=True)),
                ("content", models.JSONField(default=dict)),
                ("writer", models.CharField(blank=True, max_length=20)),
                ("written", models.DateTimeField(null=True)),
                ("found", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("model", "row"), name="one_unsealed_a_row")
                ],
                "indexes": [models.Index(fields=["key"], name="unsealed_by_key")],
            },
        ),
        migrations.RunSQL(SEALED, BEFORE),
    ]
