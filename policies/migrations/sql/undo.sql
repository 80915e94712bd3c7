-- Takes away what the other files of this folder made; triggers go with their functions, the rest with the tables.
DO $$
DECLARE
    fact text;
BEGIN
    FOR fact IN SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                 WHERE tgfoid = 'lakewarden_only_close'::regproc LOOP
        EXECUTE format('DROP INDEX %I, %I', fact || '_by_opened', fact || '_by_closed');
    END LOOP;
END $$;
DROP FUNCTION lakewarden_only_close, lakewarden_refuse_fact, lakewarden_fact_begun, lakewarden_fact_ended CASCADE;
DROP FUNCTION lakewarden_refuse, lakewarden_refuse_event, lakewarden_door CASCADE;
DROP FUNCTION lakewarden_archived;
DROP TABLE policies_door;
