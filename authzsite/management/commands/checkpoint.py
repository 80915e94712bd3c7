"""`manage.py checkpoint`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand
from policies.record import checkpoints


class Command(OperatorCommand):
    help = "Sign the audit log as it is now, and send the checkpoint to the places outside."

    def run(self, **_: Any) -> None:
        for row in checkpoints.make():
            self.stdout.write(row.note)
        if wrong := checkpoints.send():
            self.fail("not sent: " + "; ".join(wrong))
