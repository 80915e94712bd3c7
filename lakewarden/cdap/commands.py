"""CDAP's security commands: one grammar and one set of answers, wherever they are carried out.

    run("grant actions READ on entity dataset:ns1.* to role analysts", backend)

A command answers what CDAP's own command line answers, word for word.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity, parse

HOLDERS = ("user", "group", "role")
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL")


class BadCommand(ValueError):
    """The text is no command; the message says what one looks like."""


@dataclass(frozen=True)
class Holder:
    """Who has privileges or roles: a kind (user, group or role) and a name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.upper()} '{self.name}'"


class Backend(Protocol):
    """Whoever carries commands out; each call raises what went wrong in its own way."""

    def grant(self, target: Authorizable, holder: Holder, actions: Sequence[str]) -> None: ...

    def revoke(self, target: Authorizable, holder: Holder | None, actions: Sequence[str] | None) -> None: ...

    def privileges(self, holder: Holder) -> Iterable[tuple[Authorizable, str]]: ...

    def create_role(self, name: str) -> None: ...

    def drop_role(self, name: str) -> None: ...

    def roles(self, holder: Holder | None) -> Iterable[str]: ...

    def add_role(self, name: str, holder: Holder) -> None: ...

    def remove_role(self, name: str, holder: Holder) -> None: ...


Words = Mapping[str, str]


def run(text: str, backend: Backend) -> str:
    """Carry a command out; answers what to print.  Raises BadCommand before anything is asked for."""
    do, words = _understood(text)
    return do(words, backend)


def text_of(words: Sequence[str]) -> str:
    """The command that a shell passed on, as one text or word by word."""
    return words[0] if len(words) == 1 else shlex.join(words)


def described() -> str:
    """Every command with what it does, a line each."""
    wide = max(len(command.pattern) for command in COMMANDS)
    return "\n".join(f"{command.pattern:{wide}}  {command.says}" for command in COMMANDS)


@dataclass(frozen=True)
class Command:
    """One form of command; words in angle brackets stand for what the asker names."""

    pattern: str
    says: str
    do: Callable[[Words, Backend], str]

    def words(self, given: Sequence[str]) -> dict[str, str] | None:
        """What was named, when the words given have this form."""
        form = self.pattern.split()
        if len(form) != len(given):
            return None
        pairs = list(zip(form, given))
        if any(word.lower() != fixed for fixed, word in pairs if not fixed.startswith("<")):
            return None
        return {slot.strip("<>"): word for slot, word in pairs if slot.startswith("<")}

    def begins(self, given: Sequence[str]) -> int:
        """How many words agree before the first that does not."""
        for place, (fixed, word) in enumerate(zip(self.pattern.split(), given)):
            if not fixed.startswith("<") and word.lower() != fixed:
                return place
        return min(len(self.pattern.split()), len(given))


def _understood(text: str) -> tuple[Callable[[Words, Backend], str], Words]:
    try:
        given = shlex.split(text)
    except ValueError:
        raise BadCommand("a quotation mark is not closed") from None
    for command in COMMANDS:
        words = command.words(given)
        if words is not None:
            return command.do, words
    near = max(COMMANDS, key=lambda command: command.begins(given))
    if near.begins(given):
        raise BadCommand(f"this command is incomplete; write: {near.pattern}")
    raise BadCommand(f"`{' '.join(given)}` is not a command; `help` lists them")


def _target(words: Words) -> Authorizable:
    try:
        return parse(words["entity"])
    except BadEntity as error:
        raise BadCommand(str(error)) from None


def _holder(words: Words) -> Holder:
    kind, name = words["principal-type"].lower(), words["principal-name"]
    if kind not in HOLDERS or not name:
        raise BadCommand(
            f"`{words['principal-type']} {name}` is not a principal; write user, group or role NAME"
        )
    return Holder(kind, name)


def _actions(words: Words) -> tuple[str, ...]:
    named = [item.strip().upper() for item in words["actions"].split(",")]
    for item in named:
        if item not in ACTIONS:
            raise BadCommand(f"`{item}` is not an action; the actions are {', '.join(ACTIONS)}")
    return tuple(dict.fromkeys(named))


def _grant(words: Words, backend: Backend) -> str:
    target, holder, actions = _target(words), _holder(words), _actions(words)
    backend.grant(target, holder, actions)
    return f"Successfully granted action(s) '{','.join(actions)}' on entity '{target}' to {holder}"


def _revoke(words: Words, backend: Backend) -> str:
    target, holder, actions = _target(words), _holder(words), _actions(words)
    backend.revoke(target, holder, actions)
    return f"Successfully revoked action(s) '{','.join(actions)}' on entity '{target}' for {holder}"


def _revoke_all(words: Words, backend: Backend) -> str:
    target = _target(words)
    backend.revoke(target, None, None)
    return f"Successfully revoked all actions on entity '{target}' for all principals"


def _list_privileges(words: Words, backend: Backend) -> str:
    privileges = backend.privileges(_holder(words))
    return table(("Authorizable", "Action"), [(str(target), action) for target, action in privileges])


def _create_role(words: Words, backend: Backend) -> str:
    backend.create_role(words["role-name"])
    return f"Successfully created role '{words['role-name']}'"


def _drop_role(words: Words, backend: Backend) -> str:
    backend.drop_role(words["role-name"])
    return f"Successfully dropped role '{words['role-name']}'"


def _list_roles(words: Words, backend: Backend) -> str:
    roles = backend.roles(_holder(words) if words else None)
    return table(("Role",), [(name,) for name in roles])


def _add_role(words: Words, backend: Backend) -> str:
    backend.add_role(words["role-name"], _holder(words))
    kind, name = words["principal-type"], words["principal-name"]
    return f"Successfully added role '{words['role-name']}' to '{kind}' '{name}'"


def _remove_role(words: Words, backend: Backend) -> str:
    backend.remove_role(words["role-name"], _holder(words))
    kind, name = words["principal-type"], words["principal-name"]
    return f"Successfully removed role '{words['role-name']}' from {kind} '{name}'"


def _help(words: Words, backend: Backend) -> str:
    return described()


_TO = "<principal-type> <principal-name>"
COMMANDS = (
    Command(f"grant actions <actions> on entity <entity> to {_TO}", "grant actions to a principal", _grant),
    Command(
        f"revoke actions <actions> on entity <entity> from {_TO}", "revoke actions from a principal", _revoke
    ),
    Command("revoke all on entity <entity>", "revoke everything on an entity from everyone", _revoke_all),
    Command(
        f"list privileges for {_TO}", "list the privileges of a principal, also by roles", _list_privileges
    ),
    Command("create role <role-name>", "create a role", _create_role),
    Command("drop role <role-name>", "delete a role and all its grants", _drop_role),
    Command("list roles", "every role", _list_roles),
    Command(f"list roles for {_TO}", "list the roles of a principal", _list_roles),
    Command(f"add role <role-name> to {_TO}", "assign a role to a user or group", _add_role),
    Command(f"remove role <role-name> from {_TO}", "revoke a role", _remove_role),
    Command("help", "this list", _help),
)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in a frame, as CDAP prints them; what cannot be printed, such as an end of line, is a `?`."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    frame = f"+{'=' * (sum(widths) + 3 * len(widths) - 1)}+"
    lines = []
    for row in (head, *rows):
        printable = ["".join(char if char.isprintable() else "?" for char in cell) for cell in row]
        cells = [f"| {text:{width}} " for text, width in zip(printable, widths)]
        lines.append("".join(cells) + "|")
    return "\n".join([frame, lines[0], frame, *lines[1:], frame])
