from django.db import migrations, models

from accounts.fact_content import content
from accounts.migrations._beside_older import AddFieldOnce, NotByOlder
from accounts.migrations._seal_once import SealOnce
from accounts.seals import seal

SEALED = ("kind", "name", "display_name", "pseudonym", "erased")
SET = """
UPDATE accounts_principal t SET seal = n.seal
  FROM unnest(%s::bigint[], %s::bytea[]) n(id, seal) WHERE t.id = n.id
"""


def seal_all(apps, editor):
    """Names that are there when seals come are taken as they stand."""
    rows = apps.get_model("accounts", "principal").objects.filter(seal=None).order_by("pk")
    found = list(rows.values_list("pk", *SEALED))
    for part in (found[at : at + 5000] for at in range(0, len(found), 5000)):
        seals = [seal(content("principal", pk, 0, None, *values)) for pk, *values in part]
        with editor.connection.cursor() as cursor:
            cursor.execute(SET, [[row[0] for row in part], seals])


class Migration(migrations.Migration):
    atomic = False  # a table is not locked while its rows are sealed
    dependencies = [("accounts", "0015_directory")]

    operations = [
        NotByOlder("accounts_principal", SEALED, 1),
        AddFieldOnce("principal", "seal", models.BinaryField(null=True, editable=False)),
        SealOnce(seal_all, ("accounts_principal",)),
    ]
