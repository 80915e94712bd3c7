from django.db import migrations

COLUMNS = (
    ("accounts_user", "language", "''"),
    ("accounts_directoryentry", "disabled_account", "false"),
)


class Migration(migrations.Migration):
    """The same defaults where the columns were added before their migrations gave one.

    An older process that still runs leaves out a column that it does not know.
    """

    dependencies = [("accounts", "0022_list_views")]

    operations = [
        migrations.RunSQL(f"ALTER TABLE {table} ALTER {column} SET DEFAULT {value}", migrations.RunSQL.noop)
        for table, column, value in COLUMNS
    ]
