"""What a bypass is, in words: a kind of backend writes them in English and needs nothing of the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Power:
    """A wording and its code; `many`: its plural, for the value of that name."""

    code: str
    one: str
    many: str = ""

    def english(self, **values: object) -> str:
        text = self.many if self.many and values["many"] != 1 else self.one
        return text.format_map(values)


SUPERUSER = Power("bypass.superuser", "superuser")
OWNS_DATABASE = Power("bypass.owns_database", "owns the database")
OWNS_SCHEMA = Power("bypass.owns_schema", "owns the schema")
OWNS_TABLES = Power("bypass.owns_tables", "owns {many} table or view", "owns {many} tables or views")
OWNS_METALAKE = Power("bypass.owns_metalake", "owns the metalake")
PREDEFINED = {
    "pg_read_all_data": Power("bypass.reads_all", "reads every table"),
    "pg_write_all_data": Power("bypass.writes_all", "writes every table"),
    "pg_maintain": Power("bypass.maintains_all", "maintains every table"),
    "pg_read_server_files": Power("bypass.reads_files", "reads the server's files"),
    "pg_write_server_files": Power("bypass.writes_files", "writes the server's files"),
    "pg_execute_server_program": Power("bypass.runs_programs", "runs programs on the server"),
}
ATTRIBUTES = {
    "bypassrls": Power("bypass.row_security", "passes by row security"),
    "replication": Power("bypass.replication", "may copy the whole server by replication"),
}
MAKES_MEMBERS = Power("bypass.makes_members", "may make anybody a member of any role")
ON_EVERY_DATABASE = Power("bypass.every_database", "holds {rights} on every database")
MANY_ON_EVERY_DATABASE = Power(
    "bypass.many_on_every_database",
    "holds {many} right on every database",
    "holds {many} rights on every database",
)
THROUGH = Power("bypass.through", "{what} ({role})")
AS = Power("bypass.as", "{what}, as {name}")
PLAIN = (
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
"""Those that stand by themselves, and within the two before."""
