"""What can be given in a Herd: six permissions on a namespace, and two roles on the Herd itself."""

from __future__ import annotations

from lakewarden.law.dialects.base import Privilege

DATA_OWNER, OPS = "DATA_OWNER", "OPS"

_ROWS = (
    # code, label, what it lets one do, category, where it may be given
    ("READ", "Read", "Read what belongs to the namespace", "read", "namespace"),
    ("WRITE", "Write", "Create, change and remove what belongs to the namespace", "write", "namespace"),
    ("EXECUTE", "Execute", "Start jobs and clusters of the namespace", "use", "namespace"),
    ("GRANT", "Grant", "Decide access in the namespace, as a data owner", "manage", "namespace"),
    (
        "WRITE_DESCRIPTIVE_CONTENT",
        "Write descriptions",
        "Change descriptions, columns, tags and experts of the namespace's definitions",
        "write",
        "namespace",
    ),
    ("WRITE_ATTRIBUTE", "Write attributes", "Change attributes of data", "write", "namespace"),
    (DATA_OWNER, "Data owner", "Use the calls that manage access in a namespace", "manage", "herd"),
    (OPS, "Operations", "Keep storage policies that belong to no namespace", "manage", "herd"),
)

PERMISSIONS = {
    code: Privilege(code, 1 << place, label, description, frozenset((type,)), category)
    for place, (code, label, description, category, type) in enumerate(_ROWS)
}

ON_NAMESPACE = tuple(code for code, permission in PERMISSIONS.items() if "namespace" in permission.binds)
"""The permissions on a namespace, in the order in which Herd lists them."""

ROLES = {DATA_OWNER: (DATA_OWNER,), OPS: (OPS,)}
"""The roles every Herd has; each stands for the one privilege of its name."""
