from django.db import migrations, models

from accounts.fact_content import content, plain
from accounts.migrations._beside_older import AddFieldOnce, NotByOlder
from accounts.migrations._seal_once import SealOnce
from accounts.seals import seal

BACKEND = (
    *("realm_id", "catalog_id", "kind", "sealed_url", "place", "policy", "share", "confirmed"),
    *("restored", "source", "within", "sole", "awaits"),
)
ORDER = (
    *("backend_id", "type", "path", "right", "holder", "grantor", "replaced", "revision"),
    *("done", "dropped"),
)


def seal_all(apps, editor):
    """What is there when seals come is taken as it stands; `verify_audit` holds it against the record."""
    for name, columns in (("backend", BACKEND), ("foreignorder", ORDER)):
        model = apps.get_model("policies", name)
        for row in model.objects.filter(seal=None).order_by("pk"):
            values = (plain(getattr(row, column)) for column in columns)
            row.seal = seal(content(name, row.pk, 0, None, *values))
            row.save(update_fields=["seal"])


class Migration(migrations.Migration):
    atomic = False  # a table is not locked while its rows are sealed
    dependencies = [("policies", "0045_origin_of_the_directory"), ("accounts", "0016_seals_of_names")]

    operations = [
        NotByOlder("policies_backend", BACKEND, 1),
        NotByOlder("policies_foreignorder", ORDER, 1),
        AddFieldOnce("backend", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce("foreignorder", "seal", models.BinaryField(null=True, editable=False)),
        SealOnce(seal_all, ("policies_backend", "policies_foreignorder")),
    ]
