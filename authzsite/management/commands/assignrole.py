"""`manage.py assignrole`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, principal, realm_root
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.errors import NotFound
from policies.services import roles


class Command(OperatorCommand):
    help = "Assign a role of a realm to people and groups."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("realm")
        parser.add_argument("role")
        parser.add_argument("holders", nargs="+", metavar="user:NAME|group:NAME")
        parser.add_argument("--remove", action="store_true", help="revoke it instead")

    def run(self, *, realm: str, role: str, holders: list[str], remove: bool, **_: Any) -> None:
        named = [principal(text) for text in holders]
        root = realm_root(realm)
        node = find(ObjectRef("role", root.name, (role,)))
        if node is None:
            raise NotFound(f"there is no role `{role}` in {realm}")
        act = roles.unassign if remove else roles.assign
        for item in named:
            act(node, item, by=self.by, authority=self.authority)
        self.stdout.write(f"{'revoked' if remove else 'assigned'} {role}: {', '.join(holders)}")
