"""Facts by the revision in which they began and ended, to hold some changes against their facts alone."""

from django.db import migrations

TABLES = (
    "accounts_keeping",
    "accounts_membership",
    "catalog_mode",
    "catalog_placement",
    "policies_assignment",
    "policies_grant",
    "policies_ownership",
    "policies_realmmember",
    "policies_separationexception",
    "policies_separationrule",
)


def _index(table: str, column: str, where: str = "") -> migrations.RunSQL:
    name = f"{table}_by_{column}"
    return migrations.RunSQL(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} ({column}){where}",
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0004_keepers_and_sign_ins"),
        ("catalog", "0007_origins"),
        ("policies", "0035_outages"),
    ]

    operations = [
        operation
        for table in TABLES
        for operation in (
            _index(table, "opened"),
            _index(table, "closed", " WHERE closed IS NOT NULL"),
        )
    ]
