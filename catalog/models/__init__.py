"""Realms and the objects in them."""

from catalog.models.realms import LAW_SQL, Mode, Realm
from catalog.models.securables import Detail, Mark, Placement, Securable

__all__ = ["LAW_SQL", "Detail", "Mark", "Mode", "Placement", "Realm", "Securable"]
