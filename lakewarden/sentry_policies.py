"""Policy files of Apache Sentry, with the privileges that CDAP's extension for it writes.

Groups have roles and roles have privileges; there is no other way to have any.  What is not understood in a
file makes all of it unusable.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEVELS: Mapping[str, tuple[str, ...]] = {
    "namespace": ("namespace",),
    "application": ("namespace", "application"),
    "program": ("namespace", "application", "program"),
    "dataset": ("namespace", "dataset"),
    "stream": ("namespace", "stream"),
    "artifact": ("namespace", "artifact"),
    "dataset_type": ("namespace", "dataset_type"),
    "dataset_module": ("namespace", "dataset_module"),
    "securekey": ("namespace", "securekey"),
    "kerberosprincipal": ("principal",),
}
"""What a privilege names below the instance, from the top, by the type of its entity."""
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN")
_EVERY_ACTION = ("ALL", "*")
_TYPES = {levels: type for type, levels in LEVELS.items()}


class NotUnderstood(ValueError):
    """The file says something that is no policy of Sentry; the text names the line's own words."""


@dataclass(frozen=True)
class PolicyFile:
    """The roles of each group, and what each role has: pairs of an entity's text and an action."""

    groups: Mapping[str, tuple[str, ...]]
    roles: Mapping[str, tuple[tuple[str, str], ...]]

    def privileges(self, groups: Iterable[str]) -> list[tuple[str, str]]:
        """What members of these groups have; a role that is not defined gives nothing."""
        roles = dict.fromkeys(role for group in groups for role in self.groups.get(group, ()))
        return list(dict.fromkeys(pair for role in roles for pair in self.roles.get(role, ())))


def read(text: str, instance: str) -> PolicyFile:
    """The policies of the CDAP that they call `instance`; those of another are left out.

    Raises NotUnderstood.
    """
    parser = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, default_section="", empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    try:
        parser.read_string(re.sub(r"\\\r?\n", " ", text))
    except configparser.Error as error:
        raise NotUnderstood(f"it is no policy file: {str(error).splitlines()[0]}") from None
    if strange := [name for name in parser.sections() if name not in ("groups", "roles")]:
        raise NotUnderstood(f"section [{strange[0]}]: groups have roles and roles have privileges, no more")
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    groups = {group: _items(listed) for group, listed in sections.get("groups", {}).items()}
    roles = {
        role: tuple(pair for item in _items(listed) for pair in _privileges(item, instance))
        for role, listed in sections.get("roles", {}).items()
    }
    return PolicyFile(groups, roles)


def _items(listed: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in listed.replace("\n", " ").split(",") if item.strip())


def _privileges(item: str, instance: str) -> list[tuple[str, str]]:
    """`instance=cdap->namespace=ns1->dataset=orders->action=read` as pairs of a text and an action."""
    parts = [tuple(word.strip() for word in part.partition("=")[::2]) for part in item.split("->")]
    if len(parts) < 2 or not all(key and value for key, value in parts):
        raise NotUnderstood(f"privilege `{item}` is not instance=…->…->action=…")
    (first, named), *between, (last, action) = parts
    levels = tuple(key for key, _ in between)
    if (first, last) != ("instance", "action") or (levels and levels not in _TYPES):
        raise NotUnderstood(f"privilege `{item}` is not instance=…->…->action=…")
    actions = ACTIONS if action.upper() in _EVERY_ACTION else (action.upper(),)
    if not set(actions) <= {*ACTIONS}:
        raise NotUnderstood(f"privilege `{item}` has an action that CDAP has not")
    if named != instance:
        return []
    return [(_text(levels, [value for _, value in between], instance), action) for action in actions]


def _text(levels: Sequence[str], values: Sequence[str], instance: str) -> str:
    if not levels:
        return f"instance:{instance}"
    return f"{_TYPES[tuple(levels)]}:{'.'.join(values)}"
