"""`manage.py repair`"""

from __future__ import annotations

from typing import Any

from axes.utils import reset

from accounts.models import User
from authzsite.management.base import OperatorCommand, known, realm_root
from policies.decisions.site import locked_out_realms
from policies.services import realm_repair, second_factors


class Command(OperatorCommand):
    help = "Repair a lock-out: list realms whose owner cannot sign in, set another owner, unblock a name."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("realm", nargs="?", help="the realm for a new owner; without it, all are listed")
        parser.add_argument("--owner", metavar="user:NAME|group:NAME", help="its new owner")
        parser.add_argument("--reason", default="", help="kept in the history of the realm permanently")
        parser.add_argument(
            "--forget-second-factors", metavar="NAME", help="remove the second factors of this account"
        )
        parser.add_argument("--let-in", metavar="NAME", help="unblock a name after wrong passwords")

    def run(
        self,
        *,
        realm: str | None,
        owner: str | None,
        reason: str,
        let_in: str | None,
        forget_second_factors: str | None,
        **_: Any,
    ) -> None:
        if realm is None and (owner or reason):
            self.fail("name the realm that is to get another owner", code=2)
        if realm is not None and not owner:
            self.fail("name the new owner with --owner", code=2)
        if let_in:
            many = reset(username=let_in)
            self.stdout.write(f"{let_in} can try again at once" if many else f"{let_in} was not blocked")
        if realm is not None and owner:
            root, new = realm_root(realm), known(owner)
            realm_repair.set_owner_of_realm(root, new, by=self.by, reason=reason, authority=self.authority)
            self.stdout.write(f"{new} now owns {root.name}; the repair is in its history")
        if forget_second_factors:
            self._forget_second_factors(forget_second_factors)
        if realm is None and not let_in and not forget_second_factors:
            self._list()

    def _forget_second_factors(self, name: str) -> None:
        account = User.objects.select_related("principal").filter(username=name).first()
        if account is None:
            self.fail(f"there is no account {name}")
        many = second_factors.forget(account, by=self.by, authority=self.authority)
        self.stdout.write(f"{many} second factors of {name} removed; the password alone is enough now")

    def _list(self) -> None:
        out = locked_out_realms()
        for root, owner in out:
            self.stdout.write(f"{root.name}: {owner} owns it and cannot sign in")
        if not out:
            self.stdout.write("every realm has an owner who can sign in")
