"""Of an account that is disabled it is kept whether the directory did that, as only then it may enable it.

Of those that left before, nothing tells who disabled them first, so the directory may enable them as it could.
"""

from django.db import migrations, models


def those_that_left(apps, schema_editor):
    entries = apps.get_model("accounts", "DirectoryEntry").objects.using(schema_editor.connection.alias)
    entries.filter(is_active=False, principal__account__is_active=False).update(disabled_account=True)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_formats_by_language")]

    operations = [
        migrations.AddField("directoryentry", "disabled_account", models.BooleanField(db_default=False, default=False)),
        migrations.RunPython(those_that_left, migrations.RunPython.noop),
    ]
