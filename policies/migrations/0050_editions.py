from django.db import migrations, models

SEALED = (
    *("backend", "foreignorder", "review", "reviewdesk", "reviewseat", "reviewrow"),
    *("requestpart", "substitute"),
)


class Migration(migrations.Migration):
    """Seals of before are those of edition 0, so that no row has to be sealed anew."""

    dependencies = [("policies", "0049_notices_by_code"), ("accounts", "0018_editions")]

    operations = [
        migrations.AddField(
            model, "edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        )
        for model in SEALED
    ]
