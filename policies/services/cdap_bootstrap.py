"""The default namespace of a CDAP comes by itself once its master user may administer it."""

from __future__ import annotations

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root
from lakewarden.law.dialects.cdap.authorizable import of
from policies.authority import SYSTEM
from policies.decisions import ask
from policies.services import entities, patterns

DEFAULT = of("namespace", "default")


def look(top: Node, master: str) -> bool:
    """Make the default namespace when the master user may and it is not there; whether it was made."""
    user = people.find("user", master)
    if user is None or patterns.exists(top, DEFAULT):
        return False
    if not any(ask.ask_entity(user, action, top, DEFAULT) for action in ("ADMIN", "namespace.create")):
        return False
    entities.create(top, DEFAULT, by=SYSTEM)
    return True


def look_everywhere() -> int:
    """The same in every CDAP that has a master user; answers how many were made."""
    rows = Realm.objects.filter(kind=Realm.Kind.CDAP, closed__isnull=True)
    masters = ((row, row.settings.get("master_user", "")) for row in rows)
    return sum(look(root(row), master) for row, master in masters if master)
