"""`manage.py raisepolicy`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, realm_root
from policies.simulation.generations import GENERATIONS, Raise, carry_out

MOST = 1000
"""So many lines of gains and losses are shown; the totals count all."""


class Command(OperatorCommand):
    help = "Move a CDAP realm to the rules of a later generation: preview the effect on access, then apply."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("realm")
        parser.add_argument("policy", choices=GENERATIONS[1:])
        parser.add_argument("--plan", metavar="DIGEST", help="apply the previewed plan with this digest")
        parser.add_argument("--reason", default="")

    def run(self, *, realm: str, policy: str, plan: str | None, reason: str, **_: Any) -> None:
        root = realm_root(realm)
        if plan is not None:
            done = carry_out(
                root, policy, seen=plan, by=self.by, authority=lambda: self.authority, reason=reason
            )
            self.stdout.write(f"{realm} now has the rules of CDAP {done.policy}; before, {done.before}")
            return
        shown = Raise(root, policy)
        for item in shown.policies:
            self.stdout.write(str(item))
        for line in shown.lines(MOST):
            self.stdout.write(line)
        totals = shown.difference.totals
        self.stdout.write(
            f"{totals.people_losing} of the people lose rights, {totals.people_gaining} gain rights"
        )
        self.stdout.write(f"plan {shown.digest}")
