"""Writes docs/cdap-operations.md: every operation of each generation of CDAP's law, from its tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lakewarden.law.dialects.cdap import policies34, policies35, policies43  # noqa: E402
from lakewarden.law.dialects.cdap.requirements import OR_ABOVE, OR_BELOW, Requirement, Row  # noqa: E402
from lakewarden.law.dialects.cdap.subjects43 import TABLES  # noqa: E402
from lakewarden.law.dialects.cdap.whole import WHOLE, conditions  # noqa: E402

DOCUMENT = ROOT / "docs" / "cdap-operations.md"
TOP = """# Operations of CDAP

Written by `python scripts/cdap_operations.py` from the tables of the law; do not edit. These names are what
AuthZEN's `action.name` takes for a realm of that generation; `/access/v1/search/action` lists those that are
allowed on an entity. Where a condition is named, it is sent as `action.properties.condition`, with the name
of the second entity beside it.

## Whole operations

In 4.3 some operations ask several users for something. One question asks for all of it: the subject
requests; `executing_user` is impersonated (without it nobody is, and programs run as the master user of the
realm); `parts` says what happens, each by its condition and its entity. The answer lists every part with who
needs what, and `missing` what is lacking.

```json
{"subject": {"type": "user", "id": "ana"},
 "action": {"name": "deploy_application", "properties": {"executing_user": "etl", "parts": [
   {"condition": "creating a dataset", "resource": {"type": "dataset", "id": "cdap/ns1.orders"}}]}},
 "resource": {"type": "application", "id": "cdap/ns1.app"}}
```

| operation | is asked of | conditions |
|---|---|---|
"""
SCOPES = {OR_ABOVE: ", or on what it stands in", OR_BELOW: ", or on something in it"}


def need(requirement: Requirement) -> str:
    codes = (" or " if requirement.any else " and ").join(requirement.privileges)
    when = f", when {requirement.condition}" if requirement.condition else ""
    return f"{codes} on `{requirement.entity}`{SCOPES.get(requirement.scope, '')}{when}"


def table(rows: Iterable[Row]) -> Iterable[str]:
    yield "| operation | is asked of | takes |\n|---|---|---|\n"
    for row in rows:
        needs = "; ".join(map(need, row.requires)) or "nothing"
        yield f"| `{row.id}` | {row.asked.replace('_', ' ')} | {needs} |\n"


def page() -> str:
    """The whole document."""
    parts = [TOP]
    for name, whole in WHOLE.items():
        listed = ", ".join(f"`{condition}`" for condition in conditions(name)) or "none"
        parts.append(f"| `{name}` | {whole.about} | {listed} |\n")
    for title, module in (("3.4", policies34), ("3.5", policies35), ("4.3", policies43)):
        parts += [f"\n## Generation {title}\n\n", *table(module.ROWS)]
    for name, members in TABLES.items():
        parts.append(f"\n### `{name}` in 4.3\n\n| who | when | takes |\n|---|---|---|\n")
        for part in members:
            requirement = part.requirement
            codes = (" or " if requirement.any else " and ").join(requirement.privileges)
            group = f" ({part.group})" if part.group else ""
            who = requirement.subject.replace("_", " ")
            parts.append(f"| {who}{group} | {requirement.condition} | {codes} on `{requirement.entity}` |\n")
    return "".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(page())
