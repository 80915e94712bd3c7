import json

from django.db import migrations, models

from accounts.fact_content import content
from accounts.migrations._beside_older import AddFieldOnce, NotByOlder
from accounts.migrations._seal_once import SealOnce
from accounts.seals import seal
from catalog.models.securables import deciding

SET = """
UPDATE catalog_detail t SET seal = n.seal
  FROM unnest(%s::bigint[], %s::bytea[]) n(id, seal) WHERE t.securable_id = n.id
"""


def seal_all(apps, editor):
    """What is said of objects when seals come is taken as it stands."""
    rows = apps.get_model("catalog", "detail").objects.filter(seal=None).order_by("pk")
    rows = rows.values_list("pk", "properties", "content")
    part = []
    for pk, *texts in rows.iterator(chunk_size=2000):
        part.append((pk, seal(content("detail", pk, 0, None, json.dumps(deciding(*texts), sort_keys=True)))))
        if len(part) == 5000:
            part = _keep(editor, part)
    _keep(editor, part)


def seal_realms(apps, editor):
    """Kinds and settings that are there when seals come are taken as they stand."""
    for row in apps.get_model("catalog", "realm").objects.filter(seal=None).order_by("pk"):
        settings = json.loads(json.dumps(row.settings, sort_keys=True))
        row.seal = seal(content("realm", row.pk, 0, None, row.kind, settings))
        row.save(update_fields=["seal"])


def _keep(editor, part):
    with editor.connection.cursor() as cursor:
        cursor.execute(SET, [[pk for pk, _ in part], [made for _, made in part]])
    return []


class Migration(migrations.Migration):
    atomic = False  # a table is not locked while its rows are sealed
    dependencies = [("catalog", "0009_origin_of_the_directory")]

    operations = [
        NotByOlder("catalog_detail", ("properties", "content"), 1),
        NotByOlder("catalog_realm", ("kind", "settings"), 1),
        AddFieldOnce("detail", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce(
            "detail", "edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
        AddFieldOnce("realm", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce(
            "realm", "edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
        SealOnce(seal_all, ("catalog_detail",)),
        SealOnce(seal_realms, ("catalog_realm",)),
    ]
