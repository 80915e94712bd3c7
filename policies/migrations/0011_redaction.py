"""Lets the name of a personal role that has ended be redacted, and nothing else of a fact."""

from django.db import migrations

ONLY_CLOSE = """
CREATE OR REPLACE FUNCTION lakewarden_only_close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed IS NULL AND NEW.closed IS NOT NULL
       AND to_jsonb(OLD) - 'closed' = to_jsonb(NEW) - 'closed' THEN RETURN NEW; END IF;
    {also}
    RAISE EXCEPTION '% is append-only: a fact can only be closed', TG_TABLE_NAME;
END $$;
"""
REDACTED = """
    IF TG_TABLE_NAME = 'catalog_placement' AND current_setting('lakewarden.redaction', true) = 'on' THEN
        IF OLD.closed IS NOT NULL AND OLD.type = 'role' AND OLD.name LIKE '~%' AND NEW.name LIKE '~%'
           AND to_jsonb(OLD) - 'name' = to_jsonb(NEW) - 'name' THEN RETURN NEW; END IF;
    END IF;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0010_verification"),
        ("accounts", "0005_erased"),
    ]
    operations = [
        migrations.RunSQL(ONLY_CLOSE.format(also=REDACTED), ONLY_CLOSE.format(also="")),
    ]
