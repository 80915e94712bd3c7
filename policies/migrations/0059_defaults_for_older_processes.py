from django.db import migrations

COLUMNS = (
    ("policies_notice", "code", "''"),
    ("policies_notice", "data", "'{}'"),
    ("policies_discovery", "moved", "0"),
    ("policies_discovery", "replays", "'[]'"),
)


class Migration(migrations.Migration):
    """The same defaults where the columns were added before their migrations gave one.

    An older process that still runs leaves out a column that it does not know.
    """

    dependencies = [("policies", "0058_replays_of_moves")]

    operations = [
        migrations.RunSQL(f"ALTER TABLE {table} ALTER {column} SET DEFAULT {value}", migrations.RunSQL.noop)
        for table, column, value in COLUMNS
    ]
