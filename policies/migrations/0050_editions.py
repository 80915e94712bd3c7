from django.db import migrations, models

from accounts.migrations._beside_older import AddFieldOnce, NotByOlder

SEALED = (
    *("backend", "foreignorder", "review", "reviewdesk", "reviewseat", "reviewrow"),
    *("requestpart", "substitute"),
)
APPROVED = ("seal", "given", "role_id", "lasts", "until", "decided_by_id", "decided_for_id")


class Migration(migrations.Migration):
    """Seals of before are those of edition 0, so that no row has to be sealed anew."""

    atomic = False  # no table is locked while another is waited for
    dependencies = [("policies", "0049_notices_by_code"), ("accounts", "0018_editions")]

    operations = [
        NotByOlder("policies_requestpart", APPROVED, 1),
        *(
            AddFieldOnce(
                model, "edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)
            )
            for model in SEALED
        ),
    ]
