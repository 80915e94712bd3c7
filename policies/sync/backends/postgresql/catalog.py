"""What is asked of the system catalogs of PostgreSQL, version 14 and newer."""

from __future__ import annotations

from psycopg import sql

SERVER = sql.SQL("""
    SELECT d.oid AS database, d.datname AS name, d.datdba AS owner,
           shobj_description(d.oid, 'pg_database') AS comment,
           r.oid AS me, r.rolname AS my_name, r.rolsuper AS superuser, r.rolcreaterole AS createrole,
           pg_is_in_recovery() AS standby, pg_current_snapshot()::text AS position
      FROM pg_database d CROSS JOIN pg_roles r
     WHERE d.datname = current_database() AND r.rolname = current_user
""")

_ROLES = sql.SQL("""
    SELECT r.oid, r.rolname AS name, r.rolsuper AS superuser, r.rolcanlogin AS login,
           r.rolbypassrls AS bypassrls, r.rolcreaterole AS createrole, r.rolreplication AS replication,
           pg_has_role(current_user, r.oid, {mode}) AS usable, c.description AS comment
      FROM pg_roles r
      LEFT JOIN pg_shdescription c ON c.objoid = r.oid AND c.classoid = 'pg_authid'::regclass
""")

# until 15 a membership had no options of its own but ADMIN, and one row for each pair
_OPTIONS = sql.SQL("inherit_option AS inherits, set_option AS sets")
_NO_OPTIONS = sql.SQL("true AS inherits, false AS sets")
_MEMBERSHIPS = sql.SQL(
    "SELECT roleid AS role, member, grantor, admin_option AS admin, {options} FROM pg_auth_members"
)
_MEMBERSHIPS_OF = sql.SQL("""
    SELECT r.rolname AS name, c.description AS comment
      FROM pg_auth_members m
      JOIN pg_roles p ON p.oid = m.member
      JOIN pg_roles r ON r.oid = m.roleid
      JOIN pg_shdescription c ON c.objoid = r.oid AND c.classoid = 'pg_authid'::regclass
     WHERE p.rolname = %(person)s AND {ours}
""")
_OURS = sql.SQL("m.grantor = %(grantor)s")

SCHEMAS = sql.SQL("""
    SELECT oid, nspname AS name, nspowner AS owner, obj_description(oid, 'pg_namespace') AS comment
      FROM pg_namespace
     WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
""")

RELATIONS = sql.SQL("""
    SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind::text AS form, c.relowner AS owner,
           obj_description(c.oid, 'pg_class') AS comment, c.relispartition AS partition,
           ARRAY(SELECT i.inhparent FROM pg_inherits i
                  WHERE i.inhrelid = c.oid ORDER BY i.inhseqno) AS parents
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
""")

COLUMNS = sql.SQL("""
    SELECT a.attrelid AS relation, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
           NOT a.attnotnull AS nullable, col_description(a.attrelid, a.attnum) AS comment
      FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY a.attrelid, a.attnum
""")

# an identity column needs no right on its sequence, a serial column does: only that depends automatically
SEQUENCES = sql.SQL("""
    SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relowner AS owner, d.refobjid AS relation
      FROM pg_depend d
      JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
""")

# who runs one is its owner while it runs; what a trigger calls nobody can call by themselves
DEFINERS = sql.SQL("""
    SELECT n.nspname AS schema, p.proowner AS owner, a.grantee, count(DISTINCT p.oid) AS many
      FROM pg_proc p
      JOIN pg_namespace n ON n.oid = p.pronamespace
     CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     WHERE p.prosecdef AND a.grantee <> p.proowner
       AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
     GROUP BY 1, 2, 3
""")

# no list at all means the owner alone, but for a database: there PUBLIC has something by default
ENTRIES = sql.SQL("""
    SELECT l.place, l.oid, l.column, a.grantee, a.grantor,
           a.privilege_type AS right, a.is_grantable AS grantable
      FROM (SELECT 'database' AS place, oid, NULL::name AS column,
                   coalesce(datacl, acldefault('d', datdba)) AS acl
              FROM pg_database WHERE datname = current_database()
             UNION ALL
            SELECT 'schema', oid, NULL, nspacl FROM pg_namespace
             WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
             UNION ALL
            SELECT 'relation', oid, NULL, relacl FROM pg_class WHERE relkind IN ('r', 'p', 'f', 'v', 'm', 'S')
             UNION ALL
            SELECT 'relation', attrelid, attname, attacl FROM pg_attribute WHERE NOT attisdropped) l
     CROSS JOIN LATERAL aclexplode(l.acl) a
     WHERE l.acl IS NOT NULL
""")

MARK = sql.SQL("""
    SELECT r.oid, c.description AS comment
      FROM pg_roles r
      LEFT JOIN pg_shdescription c ON c.objoid = r.oid AND c.classoid = 'pg_authid'::regclass
     WHERE r.rolname = %s
""")

GIVEN_ON_COLUMNS = sql.SQL("""
    SELECT c.attname AS name, a.is_grantable AS grantable
      FROM pg_attribute c CROSS JOIN LATERAL aclexplode(c.attacl) a
      JOIN pg_class t ON t.oid = c.attrelid JOIN pg_namespace n ON n.oid = t.relnamespace
      JOIN pg_roles h ON h.oid = a.grantee JOIN pg_roles g ON g.oid = a.grantor
     WHERE n.nspname = %(schema)s AND t.relname = %(table)s AND NOT c.attisdropped
       AND h.rolname = %(holder)s AND g.rolname = %(grantor)s AND a.privilege_type = %(word)s
     ORDER BY c.attnum
""")

LOCATED = sql.SQL("""
    SELECT 'schema' AS place, n.nspname AS schema, NULL::name AS name, r.rolname AS owner
      FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner
     WHERE n.nspname = ANY(%(schemas)s)
     UNION ALL
    SELECT c.relkind::text, n.nspname, c.relname, r.rolname
      FROM unnest(%(parents)s::text[], %(names)s::text[]) AS wanted (schema, name)
      JOIN pg_namespace n ON n.nspname = wanted.schema
      JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.name
      JOIN pg_roles r ON r.oid = c.relowner
     UNION ALL
    SELECT 'database', d.datname, NULL, r.rolname
      FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba
     WHERE d.datname = current_database()
""")

OWNED_SEQUENCES = sql.SQL("""
    SELECT tn.nspname AS table_schema, t.relname AS table_name, n.nspname AS schema, c.relname AS name
      FROM unnest(%(parents)s::text[], %(names)s::text[]) AS wanted (schema, name)
      JOIN pg_namespace tn ON tn.nspname = wanted.schema
      JOIN pg_class t ON t.relnamespace = tn.oid AND t.relname = wanted.name
      JOIN pg_depend d ON d.refobjid = t.oid AND d.deptype = 'a'
                      AND d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
      JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
      JOIN pg_namespace n ON n.oid = c.relnamespace
""")

DEPENDENCIES = sql.SQL("""
    SELECT x.deptype::text AS kind, d.datname AS database,
           coalesce(d.datname = current_database(), true) AS here
      FROM pg_shdepend x LEFT JOIN pg_database d ON d.oid = x.dbid
     WHERE x.refclassid = 'pg_authid'::regclass AND x.refobjid = %s
""")


def roles(version: int) -> sql.Composed:
    """All roles, each with whether our account may act as it: by itself a membership allows that until 15."""
    return _ROLES.format(mode=sql.Literal("SET" if version >= 16 else "MEMBER"))


def memberships(version: int) -> sql.Composed:
    """All memberships; `version` is the server's major version, here and below."""
    return _MEMBERSHIPS.format(options=_OPTIONS if version >= 16 else _NO_OPTIONS)


def memberships_of(version: int) -> sql.Composed:
    """The memberships of `person` that `grantor` gave; until 15 the grantor is only a note."""
    return _MEMBERSHIPS_OF.format(ours=_OURS if version >= 16 else sql.SQL("true"))


def members_of(version: int) -> sql.Composed:
    """The members of a role but one."""
    return memberships(version) + sql.SQL(" WHERE roleid = %s AND member <> %s")
