"""`manage.py duty`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, principal, realm_root
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law import dialects
from lakewarden.law.objects import ObjectRef, split_name
from policies.decisions import duties
from policies.errors import NotFound
from policies.services.duties import give as give_duty
from policies.services.duties import take as take_duty


class Command(OperatorCommand):
    help = "Assign a duty in the console on a realm or an object in it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("place", metavar="REALM[/full.name]")
        parser.add_argument("duty", choices=duties.DUTIES)
        parser.add_argument("holders", nargs="+", metavar="user:NAME|group:NAME")
        parser.add_argument("--remove", action="store_true", help="revoke it instead")

    def run(self, *, place: str, duty: str, holders: list[str], remove: bool, **_: Any) -> None:
        named = [principal(text) for text in holders]
        node = self._node(place)
        act = take_duty if remove else give_duty
        for item in named:
            act(node, duty, item, by=self.by, authority=self.authority)
        self.stdout.write(f"{'revoked' if remove else 'assigned'} {duty} on {place}: {', '.join(holders)}")

    def _node(self, place: str) -> Node:
        realm, slash, name = place.partition("/")
        root = realm_root(realm)
        if not slash:
            return root
        path = split_name(name)
        law = dialects.get(root.kind)
        types = [type_ for type_ in law.types if law.type_path(type_, len(path))]
        nodes = [node for type_ in types if (node := find(ObjectRef(type_, realm, path)))]
        if not nodes:
            raise NotFound(f"there is no object `{place}`")
        return nodes[0]
