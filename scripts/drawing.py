"""Writes the drawing of ARCHITECTURE.md from the code: floors, packages, and who imports whom.

python scripts/drawing.py           write it
python scripts/drawing.py --check   only say whether each package stands in it, and no other
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "ARCHITECTURE.md"
FLOORS = ("authzsite", "policies", "catalog", "accounts", "lakewarden")
NESTED = {"authzsite/api", "authzsite/console", "lakewarden/law", "policies/sync"}
"""Folders that are drawn with the folders in them."""
LEFT_OUT = {"migrations", "management", "templatetags", "__pycache__"}
DRAWING = re.compile(r"(?<=<!-- drawing -->\n```text\n).*?(?=```\n<!-- end of the drawing -->)", re.S)


def packages(folder: Path) -> list[Path]:
    """The packages directly in a folder."""
    return sorted(
        path for path in folder.iterdir() if path.is_dir() and path.name not in LEFT_OUT and modules(path)
    )


def modules(package: Path) -> list[Path]:
    return [path for path in sorted(package.rglob("*.py")) if "migrations" not in path.parts]


def drawn() -> Iterator[Path]:
    """Each package that has a line, by its path below the root."""
    for floor in FLOORS:
        for package in packages(ROOT / floor):
            yield package.relative_to(ROOT)
            if str(package.relative_to(ROOT)) in NESTED:
                yield from (inner.relative_to(ROOT) for inner in packages(package))


def imported(package: Path) -> set[str]:
    """What the modules of a package import, as dotted names."""
    names = set()
    for path in modules(ROOT / package):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def uses(package: Path) -> list[str]:
    """The packages beside it that a package imports."""
    names = imported(package)
    beside = [path.relative_to(ROOT) for path in packages(ROOT / package.parent)]
    dotted = {path: ".".join(path.parts) for path in beside if path != package}
    return [
        path.name
        for path, prefix in dotted.items()
        if any(name == prefix or name.startswith(f"{prefix}.") for name in names)
    ]


def purpose(package: Path) -> str:
    """The first sentence of a package's docstring."""
    source = ROOT / package / "__init__.py"
    text = (ast.get_docstring(ast.parse(source.read_text())) if source.exists() else "") or ""
    return re.split(r"(?<=\.)\s|\n", text)[0].rstrip(".")


def levels(folder: Path) -> list[list[Path]]:
    """The packages of a folder, those that build on the others first; a circle shares a level."""
    beside = {path.relative_to(ROOT) for path in packages(ROOT / folder)}
    below = {path: {folder / name for name in uses(path)} for path in beside}
    reach: dict[Path, set[Path]] = {path: set(below[path]) for path in beside}
    for _ in beside:
        reach = {path: reached.union(*(reach[other] for other in reached)) for path, reached in reach.items()}
    height: dict[Path, int] = {}
    while len(height) < len(beside):
        ready = [
            path
            for path in beside - height.keys()
            if all(other in height or path in reach[other] for other in reach[path])
        ]
        level = 1 + max(height.values(), default=-1)
        height |= dict.fromkeys(ready, level)
    by_level: dict[int, list[Path]] = defaultdict(list)
    for path in sorted(height):
        by_level[height[path]].append(path)
    return [by_level[level] for level in sorted(by_level, reverse=True)]


def lines() -> Iterator[str]:
    """The drawing, top floor first; on a floor, what stands higher builds on what stands lower."""
    for number, floor in enumerate(FLOORS):
        if number:
            yield "        │ imports"
            yield "        ▼"
        title = f"{floor}/"
        yield f"┌─ {title} {'─' * (100 - len(title))}"
        for place, level in enumerate(levels(Path(floor))):
            if place:
                yield "│  ·"
            for package in level:
                yield f"│  {package.name + '/':<20}{purpose(package)}".rstrip()
                if str(package) in NESTED:
                    for inner in packages(ROOT / package):
                        yield f"│    {inner.name + '/':<18}{purpose(inner.relative_to(ROOT))}".rstrip()
        yield f"└{'─' * 103}"


def named(text: str) -> set[str]:
    """The packages that a drawing has, as paths."""
    names, floor, package = set(), "", ""
    for line in text.splitlines():
        if match := re.match(r"┌─ (\w+)/", line):
            floor = match[1]
        elif match := re.match(r"│  (\w+)/", line):
            package = match[1]
            names.add(f"{floor}/{package}")
        elif match := re.match(r"│    (\w+)/", line):
            names.add(f"{floor}/{package}/{match[1]}")
    return names


def main(arguments: list[str]) -> int:
    document = DOCUMENT.read_text()
    match = DRAWING.search(document)
    if match is None:
        print("ARCHITECTURE.md has no place for the drawing")
        return 1
    if "--check" in arguments:
        differs = named(match[0]) ^ {str(path) for path in drawn()}
        print("\n".join(f"{name}: only in the code or only in the drawing" for name in sorted(differs)))
        return bool(differs)
    DOCUMENT.write_text(DRAWING.sub(lambda _: "\n".join(lines()) + "\n", document))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
