-- What changes are found by, in blocks of 16,384 revisions: its kinds, objects, people, actors and words.  The
-- indexes changes_by_facets and events_by_facets are made with these functions.
--
-- Bodies that are parsed when they are made: an index is built without the schema in the search path.
-- None can be inlined, for array_to_string is no more than stable; so the planner knows what they cost.

CREATE FUNCTION lakewarden_block(revision bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN lpad(to_hex(revision >> 14), 8, '0');

CREATE FUNCTION lakewarden_event_facets(change bigint, kind text, lineage bigint[], people text[])
RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000 RETURN string_to_array(
    lakewarden_block(change) || 'k' || kind
    || ' ' || lakewarden_block(change) || 'o' || array_to_string(lineage, ' ' || lakewarden_block(change) || 'o')
    || ' ' || lakewarden_block(change) || 't' || coalesce(lineage[cardinality(lineage)]::text, '')
    || coalesce(' ' || lakewarden_block(change) || 'p'
                || array_to_string(nullif(people, '{}'), ' ' || lakewarden_block(change) || 'p'), ''), ' ');

CREATE FUNCTION lakewarden_change_facets(revision bigint, actor text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000 RETURN string_to_array(
    array_to_string(ARRAY[lakewarden_block(revision) || 'a' || actor], ' '), ' ');

CREATE FUNCTION lakewarden_words(revision bigint, said text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000 RETURN array_to_tsvector(string_to_array(
    lakewarden_block(revision) || array_to_string(tsvector_to_array(to_tsvector(
        'pg_catalog.simple'::regconfig,
        translate(CASE WHEN length(said) <= 200 THEN said
                       ELSE regexp_replace(said, '(\w{200})\w+', '\1', 'g') END,
                  '/._-"''', '      '))), ' ' || lakewarden_block(revision)), ' '));
