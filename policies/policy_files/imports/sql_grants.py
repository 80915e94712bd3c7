"""GRANT statements as databases write them: of pg_dump and pg_dumpall, and the answers of SHOW GRANTS.

Statements that say nothing of access are passed over; those that do and cannot be said are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from django.utils.translation import gettext

from policies.errors import Invalid
from policies.policy_files.imports.draft import Draft, LeftOut, Needs, Path, Right, check_is_one

_TERM = re.compile(
    r"""--[^\n]*|/\*.*?\*/|(?P<dollar>\$\w*\$).*?(?P=dollar)|'(?:[^'\\]|''|\\.)*'"""
    r"""|"(?:[^"]|"")*"|`(?:[^`]|``)*`|(?P<endless>/\*|["'`]|\$\w*\$)|[;,().@*]|[^\s,;().@*"'`]+""",
    re.S,
)
_DATA = {"MODIFY_TABLE": ("SELECT", "INSERT", "UPDATE", "DELETE"), "SELECT_TABLE": ("SELECT",)}
POSTGRESQL: Needs = {
    ("USE_CATALOG", "catalog"): frozenset(("CONNECT",)),
    ("CREATE_SCHEMA", "catalog"): frozenset(("CREATE",)),
    ("USE_SCHEMA", "schema"): frozenset(("USAGE",)),
    ("CREATE_TABLE", "schema"): frozenset(("CREATE",)),
    ("CREATE_VIEW", "schema"): frozenset(("CREATE",)),
    ("REGISTER_FUNCTION", "schema"): frozenset(("CREATE",)),
    **{(code, "table"): frozenset(rights) for code, rights in _DATA.items()},
    ("SELECT_VIEW", "view"): frozenset(("SELECT",)),
}
MARIADB: Needs = {
    ("CREATE_TABLE", "schema"): frozenset(("CREATE",)),
    ("CREATE_VIEW", "schema"): frozenset(("CREATE VIEW",)),
    **{
        (code, type_): frozenset(some)
        for code, some in _DATA.items()
        for type_ in ("catalog", "schema", "table")
    },
}
ALL = {
    "catalog": ("CREATE", "CONNECT", "TEMPORARY"),
    "schema": ("CREATE", "USAGE"),
    "table": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
    "view": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
}
REST = "all else of ALL PRIVILEGES"
ALL_OF_MARIADB = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "CREATE VIEW", "DROP", "ALTER", REST)
QUOTED = 500
"""So many letters of a statement are told."""
OPTION = "MANAGE_GRANTS would let them give everything."
ADMIN_OPTION = "Only who owns a role, or may grant on the realm, gives it to others."
POWERS = {"SUPERUSER", "BYPASSRLS", "CREATEROLE", "REPLICATION"}
ABOVE_GRANTS = "It goes past all grants; the law has owners and duties instead."
WHY = {
    "TRUNCATE": "The law has no right to empty a table alone.",
    "REFERENCES": "The law has no right to refer to a table alone.",
    "TRIGGER": "The law has no triggers.",
    "TEMPORARY": "The law has no temporary tables.",
    "DROP": "Only an owner drops, so name the owner.",
    REST: "The law has no indexes, triggers, routines, events and locks, and no rights on the server itself.",
}
OWN = "pg_"
OWN_ROLE = "It is a role of PostgreSQL itself, and a dump does not say what it gives."
OTHER_DATABASE = "It is about another database than the one that is imported."


def read_postgresql(text: str, draft: Draft) -> None:
    """Read dumps of roles and of one database.  Raises Invalid."""
    reading = _PostgreSQL(draft)
    reading.read(text)
    draft.say(reading.rights, POSTGRESQL, WHY)
    draft.add_the_way("PostgreSQL lets everybody connect, and a dump does not say so.", schemas=False)


def read_mariadb(text: str, draft: Draft) -> None:
    """Read the answers of SHOW GRANTS, one after another.  Raises Invalid."""
    reading = _MariaDB(draft)
    reading.read(text)
    draft.say(reading.rights, MARIADB, WHY)
    draft.add_the_way("MariaDB needs no right on what is above.")


def statements_of(text: str) -> Iterator[list[str]]:
    """The terms of each statement, without comments.  Raises Invalid."""
    terms: list[str] = []
    for match in _TERM.finditer(text):
        term = match[0]
        if match["endless"]:  # going on behind it would look for its end again and again
            raise Invalid(
                gettext("The text that begins with %(term)s has no end in this file.") % {"term": term[:20]}
            )
        if term == ";":
            yield terms
            terms = []
        elif not term.startswith(("--", "/*")):
            terms.append(term)
    if terms:
        yield terms


def name_of(term: str) -> str:
    """A name as it is meant: quotes go, and PostgreSQL's own are not folded by dumps."""
    mark = term[:1]
    return term[1:-1].replace(mark * 2, mark) if mark in ('"', "`", "'") and len(term) > 1 else term


def _split(terms: Sequence[str], mark: str = ",") -> list[list[str]]:
    """Parts between marks that stand in no parentheses."""
    parts: list[list[str]] = [[]]
    depth = 0
    for term in terms:
        depth += (term == "(") - (term == ")")
        if term == mark and not depth:
            parts.append([])
        else:
            parts[-1].append(term)
    return parts


def _words(terms: Sequence[str]) -> str:
    return " ".join(terms)


@dataclass
class _Grants:
    """What the two readings share."""

    draft: Draft
    rights: list[Right] = field(default_factory=list)

    def read(self, text: str) -> None:
        statements = list(statements_of(self._prepared(text)))
        if not any(terms and terms[0].upper() == "GRANT" for terms in statements):
            raise Invalid(gettext("There is no GRANT in this file."))
        self._look_ahead(statements)
        for terms in statements:
            self._statement(terms, [term.upper() for term in terms])

    def _prepared(self, text: str) -> str:
        return text

    def _look_ahead(self, statements: Sequence[Sequence[str]]) -> None:
        """What later statements say of earlier ones."""

    def _statement(self, terms: list[str], upper: list[str]) -> None:
        raise NotImplementedError

    def _privileges(self, terms: list[str], what: str) -> list[str]:
        """The privileges of a GRANT; those on columns are left out."""
        statements = []
        for part in _split(terms):
            if "(" in part:
                self.draft.leave_out(f"{what} ({_words(part)})", "Rights on columns are not kept here.")
            else:
                statements.append(_words(part).upper().removesuffix(" PRIVILEGES"))
        return statements


@dataclass
class _PostgreSQL(_Grants):
    views: set[Path] = field(default_factory=set)
    sequences: set[Path] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)
    logins: set[str] = field(default_factory=set)
    database: str = ""
    """The one whose own grants count."""

    def _prepared(self, text: str) -> str:
        r"""A command of psql, such as `\connect`, is a line of its own and has no semicolon."""
        return re.sub(r"(?m)^\\.*$", lambda line: f";{line[0]};", text)

    def _look_ahead(self, statements: Sequence[Sequence[str]]) -> None:
        self._find_database(statements)
        for terms in statements:
            upper = [term.upper() for term in terms]
            for kind, names in (("VIEW", self.views), ("SEQUENCE", self.sequences)):
                if kind in upper[:4] and upper[:1] == ["CREATE"]:
                    rest = terms[upper.index(kind) + 1 :]
                    names.add(tuple(name_of(term) for term in rest[:3] if term != "."))
            if upper[:2] in (["ALTER", "ROLE"], ["CREATE", "ROLE"]):
                self.roles |= {name_of(terms[2])} if "NOLOGIN" in upper else set()
                self.logins |= {name_of(terms[2])} if "LOGIN" in upper else set()
            if upper[:1] == ["GRANT"] and "ON" not in upper and "TO" in upper:
                self.roles |= {name_of(part[0]) for part in _split(terms[1 : upper.index("TO")]) if part}
        for name in sorted(self.roles & self.logins):
            self.draft.holds(f"user:{name}", name)
            self.draft.added.append(LeftOut(f"user:{name} holds role {name}", "Others are in it as a role."))

    def _find_database(self, statements: Sequence[Sequence[str]]) -> None:
        """Which database this is about.  Raises Invalid for several, and for data: all may stand there."""
        connected, inside, named = "", set[str](), set[str]()
        for terms in statements:
            upper = [term.upper() for term in terms]
            if upper[:1] == ["COPY"] and "STDIN" in upper:
                raise Invalid(gettext("This dump has data in it. Dump with --schema-only."))
            if upper[:1] in (["\\CONNECT"], ["\\C"]):
                connected = name_of(terms[-1]).removeprefix("dbname=").strip("'")
            about = _about(terms, upper)
            if [term.upper() for term in about[:1]] == ["DATABASE"]:
                named.add(name_of(about[1]))
            elif about:
                inside.add(connected)
        check_is_one(gettext("databases"), inside)
        only = named.pop() if len(named) == 1 else self.draft.catalog
        self.database = next(iter(inside - {""}), only)

    def _statement(self, terms: list[str], upper: list[str]) -> None:
        if upper[:1] == ["GRANT"] and "TO" in upper:
            self._grant(terms, upper)
        elif upper[:1] == ["GRANT"]:
            self.draft.leave_out(_words(terms)[:QUOTED], "It is not understood.")
        elif upper[:2] in (["ALTER", "ROLE"], ["CREATE", "ROLE"]) and (powers := POWERS & set(upper)):
            self.draft.leave_out(f"role {name_of(terms[2])}: {', '.join(sorted(powers))}", ABOVE_GRANTS)
        elif upper[:2] == ["CREATE", "POLICY"]:
            self.draft.leave_out(_words(terms)[:QUOTED], "Row filters are not kept here.")
        elif upper[:3] == ["ALTER", "DEFAULT", "PRIVILEGES"]:
            self.draft.leave_out(_words(terms), "Rights on what is made later are given on the schema here.")
        elif upper[:1] == ["ALTER"] and upper[-3:-1] == ["OWNER", "TO"]:
            place = self._place(terms[1:-3]) if upper[1] in ("SCHEMA", "TABLE", "DATABASE") else None
            if upper[1] == "VIEW":
                place = self._place(terms[2:-3])
            elif upper[1:3] in (["MATERIALIZED", "VIEW"], ["FOREIGN", "TABLE"]):
                place = self._place(terms[3:-3])
            if place is None:
                self.draft.leave_out(_words(terms), _why_not(upper[1]))
            else:
                self.draft.owner(*place, self._holder(name_of(terms[-1])))
        elif upper[:1] == ["REVOKE"] and name_of(terms[-1]).upper() == "PUBLIC":
            return  # nobody has it by PUBLIC here anyway
        elif upper[:1] == ["REVOKE"]:
            self.draft.leave_out(_words(terms), "It is taken from what an owner has by itself.")

    def _grant(self, terms: list[str], upper: list[str]) -> None:
        to = len(upper) - 1 - upper[::-1].index("TO")
        holders = [name_of(part[0]) for part in _split(terms[to + 1 :]) if part]
        quoted = _words(terms)[:QUOTED]
        if "ON" not in upper[:to]:
            self._report_options(upper[to:], quoted)
            self._membership([name_of(part[0]) for part in _split(terms[1:to]) if part], holders)
            return
        on = upper.index("ON")
        if "OPTION" in upper[to:]:
            self.draft.leave_out(f"{quoted}: the grant option", OPTION)
        place = self._place(terms[on + 1 : to])
        if place is None:
            self.draft.leave_out(quoted, _why_not(upper[on + 1]))
            return
        codes = self._privileges(terms[1:on], quoted)
        self.draft.count(len(codes) * len(holders))
        for code in codes:
            for name in holders:
                if name.upper() == "PUBLIC":
                    self.draft.leave_out(
                        f"PUBLIC: {code} on {_words(terms[on + 1 : to])}", "It is about everybody."
                    )
                elif name.startswith(OWN):
                    self.draft.leave_out(f"{name}: {code} on {_words(terms[on + 1 : to])}", OWN_ROLE)
                else:
                    rights = ALL[place[0]] if code == "ALL" else (code,)
                    self.rights += [Right(self._holder(name), *place, right) for right in rights]

    def _report_options(self, upper: Sequence[str], quoted: str) -> None:
        """What a membership says beyond that somebody is in a role; the same words may stand in any order."""
        after = set(pairwise(upper))
        if after & {("ADMIN", "OPTION"), ("ADMIN", "TRUE")}:
            self.draft.leave_out(f"{quoted}: the admin option", ADMIN_OPTION)
        if ("INHERIT", "FALSE") in after:
            self.draft.leave_out(f"{quoted}: only after SET ROLE", "Who holds a role here has what it gives.")

    def _place(self, terms: Sequence[str]) -> tuple[str, Path] | None:
        kind = terms[0].upper() if terms else ""
        names = [name_of(term) for term in terms if term != "."]
        if kind == "DATABASE" and len(names) == 2:
            return ("catalog", self.draft.in_catalog()) if names[1] == self.database else None
        if kind == "SCHEMA" and len(names) == 2:
            return "schema", self.draft.in_catalog(names[1])
        names = names[1:] if kind == "TABLE" else names
        if len(names) != 2 or "," in terms or kind in ("SEQUENCE", "FUNCTION", "ALL", "TYPE", "LANGUAGE"):
            return None
        if tuple(names) in self.sequences:
            return None
        return ("view" if tuple(names) in self.views else "table"), self.draft.in_catalog(*names)

    def _holder(self, name: str) -> str:
        return f"role:{name}" if name in self.roles or name.startswith(OWN) else f"user:{name}"

    def _membership(self, roles: Sequence[str], holders: Sequence[str]) -> None:
        self.draft.count(len(roles) * len(holders))
        for role in roles:
            for name in holders:
                if role.startswith(OWN):
                    self.draft.leave_out(f"{name} is in role {role}", OWN_ROLE)
                    continue
                if name in self.roles:
                    self.draft.leave_out(f"role {name} is in role {role}", "Roles hold no roles here.")
                if name in self.logins or name not in self.roles:
                    self.draft.holds(f"user:{name}", role)


def _about(terms: Sequence[str], upper: Sequence[str]) -> Sequence[str]:
    """What a grant is on, or whose owner is told, and all behind it; nothing for other statements."""
    if upper[:1] == ["GRANT"] and "ON" in upper[:-2]:
        return terms[upper.index("ON") + 1 :]
    return terms[1:] if upper[:1] == ["ALTER"] and upper[-3:-1] == ["OWNER", "TO"] else ()


def _why_not(kind: str) -> str:
    """Why a grant on this, or its owner, is not said."""
    return OTHER_DATABASE if kind == "DATABASE" else "It is about something that the law has not."


@dataclass
class _MariaDB(_Grants):
    def _prepared(self, text: str) -> str:
        """The answers come without semicolons, a line each."""
        return re.sub(r"(?m)^[^\S\n]*(?=GRANT\b|SET\b)", ";", text)

    def _statement(self, terms: list[str], upper: list[str]) -> None:
        if upper[:1] == ["SET"]:
            return  # which role is on at first; here all are
        if upper[:1] != ["GRANT"] or "TO" not in upper:
            if upper[:1] in (["GRANT"], ["REVOKE"]):
                self.draft.leave_out(_words(terms), "It is not understood.")
            return
        to = upper.index("TO")
        if len(_split(terms[to + 1 :])) > 1:
            self.draft.leave_out(_words(terms)[:QUOTED], "It is about several accounts. Grant to each alone.")
            return
        if [name_of(term).upper() for term in terms[to + 1 :]] == ["PUBLIC"]:
            self.draft.leave_out(_words(terms)[:QUOTED], "It is about everybody.")
            return
        holder = self._holder(terms[to + 1 :], _words(terms[: to + 4]))
        if holder:
            self._give(terms, upper, to, holder)

    def _give(self, terms: list[str], upper: list[str], to: int, holder: str) -> None:
        if "ON" not in upper[:to]:
            if "OPTION" in upper[to:]:
                self.draft.leave_out(f"{_words(terms)[:QUOTED]}: the admin option", ADMIN_OPTION)
            for part in filter(None, _split(terms[1:to])):
                if holder.startswith("role:"):
                    self.draft.leave_out(
                        f"{holder} is in role {name_of(part[0])}", "Roles hold no roles here."
                    )
                else:
                    self.draft.holds(holder, name_of(part[0]))
            return
        on, quoted = upper.index("ON"), _words(terms[: to + 4])[:QUOTED]
        place = self._place(terms[on + 1 : to], holder.partition(":")[2])
        if "OPTION" in upper[to:]:
            self.draft.leave_out(f"{quoted}: the grant option", OPTION)
        if place is None:
            self.draft.leave_out(quoted, "It is on something that the law has not, or on a pattern of names.")
            return
        for code in self._privileges(terms[1:on], quoted):
            rights = ALL_OF_MARIADB if code == "ALL" else () if code == "USAGE" else (code,)
            self.rights += [Right(holder, *place, right) for right in rights]

    def _place(self, terms: Sequence[str], holder: str) -> tuple[str, Path] | None:
        names = [name_of(term) for term in terms if term != "."]
        if names == ["*", "*"]:
            return "catalog", self.draft.in_catalog()
        if len(names) != 2 or "%" in names[0] or (re.search(r"(?<!\\)_", names[0]) and names[1] == "*"):
            return None
        # `mariadb` doubles backslashes where it draws no box
        schema = re.sub(r"\\{1,2}_", "_", names[0])
        if names[1] == "*":
            return "schema", self.draft.in_catalog(schema)
        return "table", self.draft.in_catalog(schema, names[1])

    def _holder(self, terms: Sequence[str], quoted: str) -> str:
        """`ana`@`%` is a person, a name alone a role; empty for people who may come from some hosts alone."""
        if len(terms) < 2 or terms[1] != "@":
            return f"role:{name_of(terms[0])}" if terms else ""
        host = name_of(terms[2]) if len(terms) > 2 else "%"
        if host != "%":
            self.draft.leave_out(quoted, f"It counts from {host} alone, which the law cannot say.")
            return ""
        return f"user:{name_of(terms[0])}"
