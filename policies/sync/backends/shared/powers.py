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
RUNS_AS = Power(
    "bypass.runs_as",
    "runs {many} routine with the rights of {owner}",
    "runs {many} routines with the rights of {owner}",
)
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
MAKES_MEMBERS = Power("bypass.makes_members", "may make anyone a member of any role")
ON_EVERY_DATABASE = Power("bypass.every_database", "holds {rights} on every database")
MANY_ON_EVERY_DATABASE = Power(
    "bypass.many_on_every_database",
    "holds {many} right on every database",
    "holds {many} rights on every database",
)
ON_OWN_TABLES = Power("bypass.own_tables", "holds {rights} on the server's own tables")
BUT_A_PART = Power("bypass.but_a_part", "{what}, but not all of it on {databases}")
ACTS_AS = Power("bypass.acts_as", "may act as {name}")
ACTS_AS_ANYONE = Power("bypass.acts_as_anyone", "may act as anyone")
THROUGH = Power("bypass.through", "{what} ({role})")
AS = Power("bypass.as", "{what}, as {name}")
RANGER_ADMINISTRATOR = Power(
    "bypass.ranger_administrator", "is an administrator of Ranger: may change every policy and role"
)
RANGER_SUPERUSER = Power("bypass.ranger_superuser", "is a superuser of the plugin: no policy is checked")
RANGER_SUPERUSERS = Power("bypass.ranger_superusers", "are superusers of the plugin: no policy is checked")
SERVICE_ADMINISTRATOR = Power("bypass.service_administrator", "may change every policy of the service")
TAG_SERVICE = Power("bypass.tag_service", "its policies are checked first, and are not read here")
DELEGATES = Power("bypass.delegates", "may give rights to others, by policy {policy} on {resources}")
OVERRIDES = Power("bypass.overrides", "{right} before every normal policy, by policy {policy} on {resources}")
PASSES_DENIAL = Power(
    "bypass.passes_denial", "{right} though it is denied here, by policy {policy} on {resources}"
)
DENIES_ALL_ELSE = Power(
    "bypass.denies_all_else",
    "is denied all, also what is given here, by policy {policy} on {resources}",
)
DENIALS_OFF = Power("bypass.denials_off", "no denial works: the service's definition has them switched off")
OWNS_FOLDER = Power("bypass.owns_folder", "owns the folder")
OWNS_FILES = Power("bypass.owns_files", "owns files or folders in it")
AS_OWNING_GROUP = Power("bypass.owning_group", "{rights} as the owning group")
BY_OTHER_BITS = Power("bypass.other_bits", "{rights} by the bits for others")
OF_RANGER = (
    *(RANGER_ADMINISTRATOR, RANGER_SUPERUSER, RANGER_SUPERUSERS, SERVICE_ADMINISTRATOR, TAG_SERVICE),
    *(DELEGATES, OVERRIDES, PASSES_DENIAL, DENIES_ALL_ELSE, DENIALS_OFF),
)
OF_FILES = (OWNS_FOLDER, OWNS_FILES, AS_OWNING_GROUP, BY_OTHER_BITS)
PLAIN = (
    *(
        SUPERUSER,
        OWNS_DATABASE,
        OWNS_SCHEMA,
        OWNS_TABLES,
        RUNS_AS,
        OWNS_METALAKE,
        MAKES_MEMBERS,
        MANY_ON_EVERY_DATABASE,
        ON_EVERY_DATABASE,
        ON_OWN_TABLES,
        ACTS_AS_ANYONE,
        ACTS_AS,
    ),
    *(*PREDEFINED.values(), *ATTRIBUTES.values()),
)
"""Those that stand by themselves, and within the two before."""
