"""Writes docs/settings.md: every variable of the environment with its default, meaning and danger.

python scripts/settings_reference.py             write it
python scripts/settings_reference.py --check     only say whether it is as the code has it
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from authzsite.runtime.configuration.setting_descriptions import CONSOLE, PROGRAMS, Description  # noqa: E402
from authzsite.runtime.configuration.single_sign_on import HEADERS, OIDC_ENDINGS  # noqa: E402

DOCUMENT = ROOT / "docs" / "settings.md"
READERS = (
    "environment.py",
    "runtime/configuration/outgoing.py",
    "runtime/processes.py",
    "runtime/configuration/single_sign_on.py",
)
NAME = re.compile(r"LAKEWARDEN_[A-Z_]*[A-Z]")
OTHERS = {
    "DATABASE_URL",
    "DATABASE_REPLICA_URL",
    "DATABASE_OWNER_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
    "DEBUG",
    "SPARK_MASTER",
}
OTHERS |= {"EMAIL_URL", "EMAIL_FROM", "PORT"}
INTERNAL = {"LAKEWARDEN_HANDED"}
"""What one process of ours tells another."""
HEAD = (
    "# Settings\n\n"
    "Every setting is a variable of the environment, read once at the start. A wrong value stops the start "
    "with one line that names it. `make run`, the containers and the units of [deploying](deploying.md) hand "
    "the environment on. `manage.py doctor` checks a running site.\n\n"
    "This page is written by `make settings` from the code.\n"
)


def read_by_console() -> dict[str, str]:
    """Every variable that the console reads, with its default as it is written in the code."""
    variables: dict[str, str] = {}
    for reader in READERS:
        tree = ast.parse((ROOT / "authzsite" / reader).read_text())
        for name, default in _calls(tree):
            if default or name not in variables:
                variables[name] = default
    variables |= dict(HEADERS.values())
    return variables | {f"LAKEWARDEN_OIDC_<NAME>_{ending}": "" for ending in OIDC_ENDINGS}


def read_by_programs() -> set[str]:
    """Every variable that is read where jobs and services run."""
    variables = set()
    for path in sorted((ROOT / "lakewarden").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                variables.add(node.value)
    return variables - INTERNAL


def _calls(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for place, part in enumerate(node.args):
            if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
                continue
            if NAME.fullmatch(part.value) or part.value in OTHERS:
                after = node.args[place + 1] if place + 1 < len(node.args) else None
                yield part.value, str(after.value) if isinstance(after, ast.Constant) else ""


def document() -> str:
    """The whole page.  Raises ValueError where the code and the descriptions differ."""
    defaults = read_by_console()
    described = [description for group in CONSOLE.values() for description in group]
    _compare(set(defaults), described, "the console")
    _compare(read_by_programs(), PROGRAMS, "a program")
    contents = "".join(f"* [{title}](#{_anchor(title)})\n" for title in (*CONSOLE, "Jobs and services"))
    parts = [HEAD, contents]
    for title, group in CONSOLE.items():
        parts.append(f"## {title}\n\n{_table(group, defaults)}")
    programs = "Read where jobs and services run, by the client, the guard and the command `lakewarden`.\n\n"
    parts.append(f"## Jobs and services\n\n{programs}{_table(PROGRAMS, {})}")
    return "\n".join(parts)


def _compare(read: set[str], described: tuple[Description, ...] | list[Description], who: str) -> None:
    names = [description.name for description in described]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"described twice: {', '.join(twice)}")
    if missing := sorted(read - set(names)):
        raise ValueError(f"read by {who} and not described: {', '.join(missing)}")
    if unread := sorted(set(names) - read):
        raise ValueError(f"described and read by {who} nowhere: {', '.join(unread)}")


def _table(group: tuple[Description, ...], defaults: dict[str, str]) -> str:
    rows = [_row(description, defaults.get(description.name, "")) for description in group]
    return "| Variable | Default | Meaning | Danger |\n|---|---|---|---|\n" + "".join(rows)


def _row(description: Description, default: str) -> str:
    if not description.default and not default:
        raise ValueError(f"{description.name} has no default in the code, and its description says none")
    shown = description.default or f"`{'0' if default == 'False' else default}`"
    return f"| `{description.name}` | {shown} | {description.meaning} | {description.danger} |\n"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def main(arguments: list[str]) -> int:
    try:
        written = document()
    except ValueError as problem:
        sys.stderr.write(f"{problem}: authzsite/runtime/configuration/setting_descriptions.py\n")
        return 1
    if "--check" in arguments:
        return int(not DOCUMENT.exists() or written != DOCUMENT.read_text())
    DOCUMENT.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
