"""The one counter row, and triggers that let facts only be closed and the record only grow."""

from django.db import migrations

FACTS = (
    "accounts_membership",
    "catalog_mode",
    "catalog_placement",
    "policies_realmmember",
    "policies_assignment",
    "policies_grant",
    "policies_ownership",
)
RECORD = ("policies_change", "policies_event", "policies_accessrecord")

FUNCTIONS = """
CREATE FUNCTION lakewarden_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lakewarden.maintenance', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;
CREATE FUNCTION lakewarden_only_close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed IS NULL AND NEW.closed IS NOT NULL
       AND to_jsonb(OLD) - 'closed' = to_jsonb(NEW) - 'closed' THEN RETURN NEW; END IF;
    RAISE EXCEPTION '% is append-only: a fact can only be closed', TG_TABLE_NAME;
END $$;
"""


def _fact(table: str) -> str:
    return f"""
CREATE TRIGGER only_close BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION lakewarden_only_close();
CREATE TRIGGER no_delete BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();
"""


def _record(table: str) -> str:
    return f"""
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();
"""


def _undo(tables: tuple[str, ...], triggers: tuple[str, ...]) -> str:
    return "".join(f"DROP TRIGGER IF EXISTS {name} ON {table};" for table in tables for name in triggers)


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0001_initial"),
        ("accounts", "0001_initial"),
        ("catalog", "0001_initial"),
    ]
    operations = [
        migrations.RunSQL(
            "INSERT INTO policies_counter (revision, digest) VALUES (0, '')", "DELETE FROM policies_counter"
        ),
        migrations.RunSQL(
            FUNCTIONS, "DROP FUNCTION lakewarden_refuse(); DROP FUNCTION lakewarden_only_close();"
        ),
        migrations.RunSQL(
            "".join(map(_fact, FACTS)), _undo(FACTS, ("only_close", "no_delete", "no_truncate"))
        ),
        migrations.RunSQL("".join(map(_record, RECORD)), _undo(RECORD, ("no_change", "no_truncate"))),
    ]
