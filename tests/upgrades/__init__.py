"""Small sites as released versions left them; scripts/release_dump.py makes one."""

from __future__ import annotations

import base64
from hashlib import sha256

COMMITS = {"0.1.0": "2397097c"}
"""Of the code that left each dump; tests/site/test_side_by_side.py runs its processes beside today's."""
# known to everybody: they seal and sign nothing but what is in these dumps
KEYS = {
    "LAKEWARDEN_SECRET_KEYS": base64.urlsafe_b64encode(sha256(b"seals of the dumps").digest()).decode(),
    "LAKEWARDEN_SIGNING_KEYS": base64.b64encode(sha256(b"signatures of the dumps").digest()).decode(),
}
