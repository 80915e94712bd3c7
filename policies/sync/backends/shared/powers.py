"""What a bypass is, in words: kept in English with its finding, read in the reader's language."""

from __future__ import annotations

from policies.sentences import Reader, Said, read_back, sentence

SUPERUSER = sentence("bypass.superuser", "superuser")
OWNS_DATABASE = sentence("bypass.owns_database", "owns the database")
OWNS_SCHEMA = sentence("bypass.owns_schema", "owns the schema")
OWNS_TABLES = sentence("bypass.owns_tables", "owns {many} table or view", "owns {many} tables or views")
OWNS_METALAKE = sentence("bypass.owns_metalake", "owns the metalake")
PREDEFINED = {
    "pg_read_all_data": sentence("bypass.reads_all", "reads every table"),
    "pg_write_all_data": sentence("bypass.writes_all", "writes every table"),
    "pg_maintain": sentence("bypass.maintains_all", "maintains every table"),
    "pg_read_server_files": sentence("bypass.reads_files", "reads the server's files"),
    "pg_write_server_files": sentence("bypass.writes_files", "writes the server's files"),
    "pg_execute_server_program": sentence("bypass.runs_programs", "runs programs on the server"),
}
ATTRIBUTES = {
    "bypassrls": sentence("bypass.row_security", "passes by row security"),
    "replication": sentence("bypass.replication", "may copy the whole server by replication"),
}
MAKES_MEMBERS = sentence("bypass.makes_members", "may make anybody a member of any role")
ON_EVERY_DATABASE = sentence("bypass.every_database", "holds {rights} on every database")
MANY_ON_EVERY_DATABASE = sentence(
    "bypass.many_on_every_database",
    "holds {many} right on every database",
    "holds {many} rights on every database",
)
THROUGH = sentence("bypass.through", "{what} ({role})")
AS = sentence("bypass.as", "{what}, as {name}")
_PLAIN = (
    *(
        SUPERUSER,
        OWNS_DATABASE,
        OWNS_SCHEMA,
        OWNS_TABLES,
        OWNS_METALAKE,
        MAKES_MEMBERS,
        MANY_ON_EVERY_DATABASE,
        ON_EVERY_DATABASE,
    ),
    *(*PREDEFINED.values(), *ATTRIBUTES.values()),
)


def in_readers_language(text: str) -> str:
    """A bypass as it was found; one whose wording is not known here stays in English."""
    readers: dict[str, Reader] = {"what": _plain, "rights": str}
    return str(read_back(text, (*_PLAIN, AS, THROUGH), readers) or text)


def _plain(text: str) -> Said | None:
    return read_back(text, _PLAIN, {"rights": str})
