"""What `spark.read.format("lakewarden")` can read: the views of the console, their columns and filters."""

from __future__ import annotations

TEXT, TEXTS, NUMBER, TRUTH, MOMENT = "string", "array<string>", "bigint", "boolean", "timestamp"

VIEWS: dict[str, dict[str, str]] = {
    "access": {
        "type": TEXT,
        "object": TEXT,
        "principal": TEXT,
        "actions": TEXTS,
        "owner": TRUTH,
        "direct": TRUTH,
        "via": TEXTS,
    },
    "grants": {
        "holder": TEXT,
        "role": TEXT,
        "privilege": TEXT,
        "effect": TEXT,
        "type": TEXT,
        "object": TEXT,
        "pattern": TEXT,
        "valid_from": MOMENT,
        "valid_until": MOMENT,
        "origin": TEXT,
        "since": NUMBER,
    },
    "audit": {
        "id": TEXT,
        "revision": NUMBER,
        "kind": TEXT,
        "at": MOMENT,
        "actor": TEXT,
        "on_behalf_of": TEXT,
        "via": TEXT,
        "reason": TEXT,
        "request_id": TEXT,
        "type": TEXT,
        "object": TEXT,
        "people": TEXTS,
        "text": TEXT,
    },
    "uses": {
        "principal": TEXT,
        "type": TEXT,
        "object": TEXT,
        "action": TEXT,
        "executed": TRUTH,
        "at": MOMENT,
        "run": TEXT,
    },
    "objects": {"type": TEXT, "object": TEXT, "parent": TEXT, "owner": TEXT, "since": NUMBER},
}
"""Each view's columns with their types in Spark's words, in their order."""

FILTERS: dict[str, frozenset[str]] = {
    "access": frozenset({"principal", "type"}),
    "grants": frozenset({"privilege", "effect", "origin", "holder", "role", "type"}),
    "audit": frozenset({"kind"}),
    "uses": frozenset({"principal", "action", "type"}),
    "objects": frozenset({"type", "owner"}),
}
"""The columns by which the console itself leaves out rows: equal to a text, or to one of a few."""
