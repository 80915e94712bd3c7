"""Archives of old history, and triggers that let exactly what a recorded one holds be removed."""

import django.db.models.deletion
from django.db import migrations, models

FACTS = (
    "catalog_mode",
    "catalog_placement",
    "policies_realmmember",
    "policies_assignment",
    "policies_grant",
    "policies_ownership",
)
FUNCTIONS = """
CREATE FUNCTION lakewarden_archived(realm bigint, last bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM policies_archive a
         WHERE a.id::text = current_setting('lakewarden.archive', true) AND a.state = 'recorded'
           AND a.realm_id = coalesce(realm, a.realm_id) AND last <= a.upto)
$$;
CREATE FUNCTION lakewarden_refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lakewarden.maintenance', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND coalesce(current_setting('lakewarden.archive', true), '') <> '' THEN
        IF lakewarden_archived((SELECT c.realm FROM policies_change c WHERE c.revision = OLD.change_id), OLD.change_id)
        THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;
CREATE FUNCTION lakewarden_refuse_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lakewarden.maintenance', true) = 'on' THEN RETURN OLD; END IF;
    IF coalesce(current_setting('lakewarden.archive', true), '') <> '' AND OLD.closed IS NOT NULL THEN
        IF lakewarden_archived(NULL, OLD.closed) THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;
DROP TRIGGER no_change ON policies_event;
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON policies_event
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse_event();
""" + "".join(
    f"""
DROP TRIGGER no_delete ON {table};
CREATE TRIGGER no_delete BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse_fact();
"""
    for table in FACTS
)
BACK = (
    """
DROP TRIGGER no_change ON policies_event;
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON policies_event
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
"""
    + "".join(
        f"""
DROP TRIGGER no_delete ON {table};
CREATE TRIGGER no_delete BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
"""
        for table in FACTS
    )
    + "DROP FUNCTION lakewarden_refuse_event(); DROP FUNCTION lakewarden_refuse_fact();"
    "DROP FUNCTION lakewarden_archived(bigint, bigint);"
)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0007_origins"),
        ("policies", "0023_emergencies"),
    ]

    operations = [
        migrations.CreateModel(
            name="Archive",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("first", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("written", "written"),
                            ("recorded", "recorded"),
                            ("removed", "removed from the live tables"),
                        ],
                        default="written",
                        max_length=8,
                    ),
                ),
                ("folder", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                ("events", models.BigIntegerField()),
                ("facts", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("recorded", models.BigIntegerField(null=True)),
                ("removed", models.BigIntegerField(default=0)),
                (
                    "realm",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="archives",
                        to="catalog.realm",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("realm", "first"), name="one_archive_a_beginning")
                ],
            },
        ),
        migrations.RunSQL(FUNCTIONS, BACK),
    ]
