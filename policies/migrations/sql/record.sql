-- The record only grows: changes, their events, and who was refused or looked at others' access.
--
-- Nothing in it is changed, deleted or truncated.  What a recorded archive holds may be deleted by whoever names
-- that archive (lakewarden.archive), and everything by whoever says that this is maintenance
-- (lakewarden.maintenance).

-- one row each: how far the record reaches, and the digest of its end
INSERT INTO policies_counter (revision, digest) VALUES (0, '');
INSERT INTO policies_accesscounter (size, digest) VALUES (0, '');

CREATE FUNCTION lakewarden_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lakewarden.maintenance', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP;
END $$;

-- whether the archive that was named is recorded and holds what ended with revision `last` in that realm
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

CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON policies_change
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policies_change
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();

CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON policies_event
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse_event();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policies_event
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();

CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON policies_accessrecord
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policies_accessrecord
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();
