"""A second, naive reading of Gravitino's law: its boolean expressions, evaluated as text over plain facts.

Shares nothing with the engine but the facts themselves.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from types import CodeType

from lakewarden.law.facts import Lineage, Slice

_TEXTS = tomllib.loads((Path(__file__).parent / "gravitino.toml").read_text())
OPERATIONS: dict[str, str] = _TEXTS["operations"]
ACCESS: dict[str, str] = _TEXTS["access"]
LISTS: dict[str, str] = _TEXTS["lists"]

_WORD = re.compile(r"[A-Z][A-Z_]*(?:::[A-Z_]+)?")


class Reader:
    """Answers an expression's words from the facts of a slice about one lineage, and one beside it."""

    def __init__(self, slice: Slice, lineage: Lineage, also: Lineage = ()) -> None:
        self.slice = slice
        self.lineage = lineage
        self.levels = (*lineage, *also[1:])

    def allows(self, operation: str) -> bool:
        if operation == "Metalake.createMetalake":
            return self.slice.service_admin
        return self.slice.member and self.reads(OPERATIONS[operation])

    def reads(self, expression: str) -> bool:
        return not expression or bool(eval(_code(expression), {"word": self.word}))  # noqa: S307  our own file

    def word(self, word: str) -> bool:
        type, _, what = word.partition("::")
        if what:
            return any(
                self.on(level.key, level.type, what) for level in self.levels if level.type == type.lower()
            )
        return {
            "METALAKE_USER": lambda: self.slice.member,
            "CAN_ACCESS_METADATA": lambda: self.reads(ACCESS[self.lineage[-1].type]),
            "CAN_SET_OWNER": self.can_set_owner,
            "CAN_OPERATE_METADATA_PRIVILEGE": self.can_operate,
        }[word]()

    def on(self, key: object, type: str, what: str) -> bool:
        if what == "SELF":
            return key in self.slice.selves
        if what == "OWNER":
            return self.fact(key, "OWNER", allow=True)
        if what.startswith("DENY_"):
            return self.fact(key, what[5:], allow=False)
        return self.fact(key, what, allow=True) and not self.fact(key, what, allow=False)

    def fact(self, key: object, privilege: str, *, allow: bool) -> bool:
        return any(
            rule.object == key and rule.privilege == privilege and rule.allow == allow
            for rule in self.slice.rules
        )

    def chain(self, privilege: str, *types: str) -> tuple[bool, bool]:
        keys = [level.key for level in self.lineage if level.type in types]
        return (
            any(self.fact(key, privilege, allow=True) for key in keys),
            any(self.fact(key, privilege, allow=False) for key in keys),
        )

    def usage(self, type: str) -> bool:
        """What owning a level of this type asks for around it."""
        catalog, no_catalog = self.chain("USE_CATALOG", "metalake", "catalog")
        schema, no_schema = self.chain("USE_SCHEMA", "metalake", "catalog", "schema")
        if type == "schema":
            return catalog and not no_catalog
        if type in ("table", "view", "topic", "fileset", "model", "function"):
            return schema and not no_schema and not no_catalog
        return True

    def can_set_owner(self) -> bool:
        return any(
            self.fact(level.key, "OWNER", allow=True) and self.usage(level.type)
            for level in reversed(self.lineage)
        )

    def can_operate(self) -> bool:
        securable = [
            level.type for level in self.lineage if level.type not in ("tag", "policy", "job_template")
        ]
        given, denied = self.chain("MANAGE_GRANTS", *securable)
        return (given and not denied and self.usage(self.lineage[-1].type)) or self.can_set_owner()


@cache
def _code(expression: str) -> CodeType:
    text = _WORD.sub(lambda word: f"word({word[0]!r})", expression)
    text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    return compile(text.strip(), "expression", "eval")
