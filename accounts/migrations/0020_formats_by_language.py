"""Who never chose how dates are written reads them as their language writes them.

`en-gb` was what every account began with, so it tells of no choice; for English it stays what one sees.
"""

from django.db import migrations, models


def forget_the_default(apps, schema_editor):
    users = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    while some := list(users.filter(formats="en-gb").values_list("pk", flat=True)[:1000]):
        users.filter(pk__in=some).update(formats="")


def put_it_back(apps, schema_editor):
    users = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    users.filter(formats="").update(formats="en-gb")


class Migration(migrations.Migration):
    atomic = False  # nobody's sign-in waits until all are written
    dependencies = [("accounts", "0019_browser_language")]

    operations = [
        migrations.AlterField("user", "formats", models.CharField(blank=True, default="", max_length=8)),
        migrations.RunPython(forget_the_default, put_it_back),
    ]
