"""`manage.py addmember`"""

from __future__ import annotations

from typing import Any

from accounts.models import Principal
from authzsite.management.base import OperatorCommand, principal, realm_root
from catalog.nodes import Node
from policies.services import members


class Command(OperatorCommand):
    help = "Admit people and groups to a realm, or add people to a group: addmember REALM group:G user:U …"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("realm")
        parser.add_argument("members", nargs="+", metavar="user:NAME|group:NAME|service:NAME")
        parser.add_argument("--remove", action="store_true", help="remove them instead")

    def run(self, *, realm: str, members: list[str], remove: bool, **_: Any) -> None:
        root = realm_root(realm)
        named = [principal(text) for text in members]
        first, *rest = named
        if first.kind == Principal.Kind.GROUP and rest and all(item.kind != first.kind for item in rest):
            self._group(root, first, rest, remove)
        else:
            self._realm(root, named, remove)

    def _realm(self, root: Node, named: list[Principal], remove: bool) -> None:
        act = members.remove if remove else members.add
        for item in named:
            act(root, item, by=self.by, authority=self.authority)
        self.stdout.write(
            f"{'removed from' if remove else 'members of'} {root.name}: {', '.join(map(str, named))}"
        )

    def _group(self, root: Node, group: Principal, people: list[Principal], remove: bool) -> None:
        if not remove:
            members.add(root, group, by=self.by, authority=self.authority)
        act = members.leave_group if remove else members.join_group
        for person in people:
            act(group, person, by=self.by, authority=self.authority)
        self.stdout.write(
            f"{'removed from' if remove else 'added to'} {group}: {', '.join(map(str, people))}"
        )
