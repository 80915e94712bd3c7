"""`manage.py entity`"""

from __future__ import annotations

import sys
from typing import Any

from authzsite.management.base import OperatorCommand, principal, realm_root
from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import Invalid, PolicyError, Refused
from policies.record import access_log
from policies.services import entities, patterns


class Command(OperatorCommand):
    help = "Create, update, delete or show entities of a CDAP realm: entity REALM create dataset:ns1.orders …"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("realm")
        parser.add_argument("action", choices=("create", "update", "delete", "get"))
        parser.add_argument(
            "entities", nargs="+", metavar="ENTITY", help="TYPE:NAME; delete also takes a pattern"
        )
        parser.add_argument(
            "--as", dest="acting", metavar="user:NAME", help="act as this user, with their rights"
        )
        parser.add_argument(
            "--principal", default="", metavar="NAME", help="its owner, or the user it runs as"
        )

    def run(
        self, *, realm: str, action: str, entities: list[str], acting: str | None, principal: str, **_: Any
    ) -> None:
        root = realm_root(realm)
        by = self._actor(acting)
        try:
            named = [patterns.named(root, text) for text in entities]
        except Invalid as problem:
            self.fail(str(problem), code=2)
        troubles = [text for item in named for text in self._carry_out(root, action, item, by, principal)]
        for text in troubles:
            self.stderr.write(text.replace("\n", " "))
        if troubles:
            sys.exit(1)

    def _actor(self, acting: str | None) -> Actor:
        return self.by if acting is None else Actor(principal(acting), self.by.via)

    def _carry_out(self, root: Node, action: str, entity: Authorizable, by: Actor, owner: str) -> list[str]:
        """What went wrong with one entity; the others are still done."""
        try:
            if action == "delete" and entity.is_pattern:
                return self._clear(root, entity, by)
            self.stdout.write(self._done(root, action, entity, by, owner))
        except PolicyError as problem:
            if isinstance(problem, Refused) and by.principal is not None:
                place = ask.entity_node(root, entity)
                access_log.refused(by.principal, action, None, name=place.ref.id, via=by.via)
            return [str(problem)]
        return []

    def _done(self, root: Node, action: str, entity: Authorizable, by: Actor, owner: str) -> str:
        if action == "create":
            entities.create(root, entity, by=by, principal=owner)
            return f"created {entity}"
        if action == "update":
            entities.update(root, entity, by=by, principal=owner)
            return f"updated {entity}"
        if action == "delete":
            count = entities.delete(root, entity, by=by)
            return f"deleted {entity}" + (f" and {count - 1} in it" if count > 1 else "")
        node = entities.get(root, entity, by=by)
        detail = Detail.objects.filter(securable=node.id).first()
        owning = detail.content.get(entities.PRINCIPAL) if detail else None
        return f"{entity}" + (f" of {owning}" if owning else "")

    def _clear(self, root: Node, pattern: Authorizable, by: Actor) -> list[str]:
        cleared = entities.delete_all(root, pattern, by=by)
        for entity in cleared.gone:
            self.stdout.write(f"deleted {entity}")
        return [f"left {entity}: {why}" for entity, why in cleared.left]
