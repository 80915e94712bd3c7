"""What a metalake holds, and what lies below what."""

from __future__ import annotations

LEAVES = ("table", "view", "topic", "fileset", "model", "function")
"""What lies in a schema and holds data or meaning of its own."""

DATA = ("catalog", "schema", *LEAVES, "column")
"""What tags and policies can be put on."""

ASIDE = ("role", "tag", "policy", "job_template", "job")
"""What belongs to the metalake itself and has an owner."""

OWNABLE = ("metalake", "catalog", "schema", *LEAVES, *ASIDE)

CHILDREN: dict[str, tuple[str, ...]] = {
    "metalake": ("catalog", *ASIDE, "user", "group"),
    "catalog": ("schema",),
    "schema": ("schema", *LEAVES),
    "table": ("column",),
    **dict.fromkeys((*LEAVES[1:], "column", *ASIDE, "user", "group"), ()),
}
