"""`manage.py restored`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand
from policies.sync import restored


class Command(OperatorCommand):
    help = (
        "Say that this database was put back from a copy: every backend only reports until somebody has seen "
        "its plan. A dump or a point-in-time copy is noticed without it; a snapshot of the disk is not."
    )

    def run(self, **_: Any) -> None:
        many = restored.only_report()
        self.stdout.write(f"{many} backends only report from now on; look at each plan, then repair")
