-- Facts (who is a member, who owns, what is granted, where an object lies …) are only opened and closed.
--
-- Every table of facts gets the same triggers and the same two indexes, at the end of this file.
-- What a fact begins and ends with is held by door.sql, whose functions are there already.

-- A fact is closed once, and its seal may be renewed.  The name of a personal role that has ended may be redacted
-- by whoever says so (lakewarden.redaction).  Nothing else of a fact changes.
CREATE FUNCTION lakewarden_only_close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.closed IS NULL OR OLD.closed IS NOT DISTINCT FROM NEW.closed) AND to_jsonb(OLD) - 'seal' - 'closed' = to_jsonb(NEW) - 'seal' - 'closed' THEN RETURN NEW; END IF;
    IF TG_TABLE_NAME = 'catalog_placement' AND current_setting('lakewarden.redaction', true) = 'on' THEN
        IF OLD.closed IS NOT NULL AND OLD.type = 'role' AND OLD.name LIKE '~%' AND NEW.name LIKE '~%'
           AND to_jsonb(OLD) - 'seal' - 'name' = to_jsonb(NEW) - 'seal' - 'name' THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: a fact can only be closed', TG_TABLE_NAME;
END $$;

-- An open fact is never deleted, not for maintenance either; one that has ended where a recorded archive holds it.
CREATE FUNCTION lakewarden_refuse_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed IS NOT NULL THEN
        IF current_setting('lakewarden.maintenance', true) = 'on' THEN RETURN OLD; END IF;
        IF coalesce(current_setting('lakewarden.archive', true), '') <> '' AND lakewarden_archived(NULL, OLD.closed)
        THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;

DO $$
DECLARE
    fact text;
    archived text[] := ARRAY[
        'catalog_mode',
        'catalog_placement',
        'policies_assignment',
        'policies_grant',
        'policies_ownership',
        'policies_realmmember'
    ];
    never_archived text[] := ARRAY[
        'accounts_keeping',
        'accounts_membership',
        'policies_separationexception',
        'policies_separationrule'
    ];
BEGIN
    FOREACH fact IN ARRAY archived || never_archived LOOP
        EXECUTE format('CREATE TRIGGER only_close BEFORE UPDATE ON %I
            FOR EACH ROW EXECUTE FUNCTION lakewarden_only_close()', fact);
        EXECUTE format('CREATE TRIGGER no_delete BEFORE DELETE ON %I
            FOR EACH ROW EXECUTE FUNCTION %I()', fact,
            CASE WHEN fact = ANY (archived) THEN 'lakewarden_refuse_fact' ELSE 'lakewarden_refuse' END);
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse()', fact);
        EXECUTE format('CREATE TRIGGER begun AFTER INSERT ON %I REFERENCING NEW TABLE AS fresh
            FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_fact_begun(%L)', fact, split_part(fact, '_', 2));
        EXECUTE format('CREATE TRIGGER ended AFTER UPDATE ON %I REFERENCING OLD TABLE AS stale NEW TABLE AS fresh
            FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_fact_ended(%L)', fact, split_part(fact, '_', 2));
        -- to hold some changes against their facts alone
        EXECUTE format('CREATE INDEX %I ON %I (opened)', fact || '_by_opened', fact);
        EXECUTE format('CREATE INDEX %I ON %I (closed) WHERE closed IS NOT NULL', fact || '_by_closed', fact);
    END LOOP;
END $$;
