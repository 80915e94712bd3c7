"""The writer's door in the database: a fact begins or ends only with an event of the same change that names it.

What a transaction did to facts is noted, a row for each statement, and held against the record where a change
ends, with the counter, and as the transaction commits.
"""

from django.db import migrations

MODELS = {
    "accounts_keeping": "keeping",
    "accounts_membership": "membership",
    "catalog_mode": "mode",
    "catalog_placement": "placement",
    "policies_assignment": "assignment",
    "policies_grant": "grant",
    "policies_ownership": "ownership",
    "policies_realmmember": "realmmember",
    "policies_separationexception": "separationexception",
    "policies_separationrule": "separationrule",
}
FUNCTIONS = """
CREATE TABLE policies_door (model text, revision bigint, ended boolean, ids bigint[]);
CREATE FUNCTION lakewarden_fact_begun() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM fresh
                WHERE closed IS NOT NULL OR opened <> (SELECT revision + 1 FROM policies_counter))
    THEN RAISE EXCEPTION '% is written by changes alone: this begins with none', TG_TABLE_NAME; END IF;
    INSERT INTO policies_door (model, revision, ended, ids)
    SELECT TG_ARGV[0], opened, false, array_agg(id) FROM fresh GROUP BY opened;
    RETURN NULL;
END $$;
CREATE FUNCTION lakewarden_fact_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO policies_door (model, revision, ended, ids)
    SELECT TG_ARGV[0], fresh.closed, true, array_agg(fresh.id) FROM fresh JOIN stale ON stale.id = fresh.id
     WHERE stale.closed IS NULL AND fresh.closed IS NOT NULL GROUP BY fresh.closed;
    RETURN NULL;
END $$;
CREATE FUNCTION lakewarden_door() RETURNS trigger LANGUAGE plpgsql SET enable_nestloop = off AS $$
DECLARE
    told bigint;
    unnamed text;
BEGIN
    -- the first of a transaction looks at all it did; what others did is gone before it can be seen
    FOR told IN SELECT DISTINCT revision FROM policies_door LOOP
        SELECT done.fact INTO unnamed
          FROM (SELECT model || ':' || unnest(ids) AS fact, ended FROM policies_door WHERE revision = told) done
         WHERE NOT EXISTS (SELECT FROM policies_event e WHERE e.change_id = told
                              AND e.data->>'fact' = done.fact AND (e.data ? 'state') = NOT done.ended)
         LIMIT 1;
        IF unnamed IS NOT NULL THEN
            RAISE EXCEPTION '% is written by changes alone: no event of revision % names it', unnamed, told;
        END IF;
    END LOOP;
    DELETE FROM policies_door;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER named AFTER INSERT ON policies_door DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lakewarden_door();
CREATE TRIGGER named AFTER UPDATE ON policies_counter FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_door();
CREATE OR REPLACE FUNCTION lakewarden_refuse_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed IS NOT NULL THEN
        IF current_setting('lakewarden.maintenance', true) = 'on' THEN RETURN OLD; END IF;
        IF coalesce(current_setting('lakewarden.archive', true), '') <> '' AND lakewarden_archived(NULL, OLD.closed)
        THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;
"""
UNDO = """
DROP TRIGGER named ON policies_counter;
DROP TABLE policies_door;
DROP FUNCTION lakewarden_door();
DROP FUNCTION lakewarden_fact_begun();
DROP FUNCTION lakewarden_fact_ended();
CREATE OR REPLACE FUNCTION lakewarden_refuse_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lakewarden.maintenance', true) = 'on' THEN RETURN OLD; END IF;
    IF coalesce(current_setting('lakewarden.archive', true), '') <> '' AND OLD.closed IS NOT NULL THEN
        IF lakewarden_archived(NULL, OLD.closed) THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;
"""
TRIGGERS = """
CREATE TRIGGER begun AFTER INSERT ON {table} REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_fact_begun('{model}');
CREATE TRIGGER ended AFTER UPDATE ON {table} REFERENCING OLD TABLE AS stale NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_fact_ended('{model}');
"""


class Migration(migrations.Migration):
    dependencies = [("policies", "0041_seals")]

    operations = [
        migrations.RunSQL(FUNCTIONS, UNDO),
        migrations.RunSQL(
            "".join(TRIGGERS.format(table=table, model=model) for table, model in MODELS.items()),
            "".join(f"DROP TRIGGER begun ON {table}; DROP TRIGGER ended ON {table};" for table in MODELS),
        ),
    ]
