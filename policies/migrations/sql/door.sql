-- The writer's door: a fact begins or ends only with an event of the same change that names it.
--
-- What a transaction did to facts is noted, a row for each statement, and held against the record where a change
-- ends, with the counter, and as the transaction commits.  The triggers on the tables of facts are in facts.sql.

CREATE TABLE policies_door (model text, revision bigint, ended boolean, ids bigint[]);

-- a fact begins in the change that is being written, and is open
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

-- every fact that was noted must be named by an event of that revision
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
