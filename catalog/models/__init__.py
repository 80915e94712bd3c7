from catalog.models.realms import Mode, Realm
from catalog.models.securables import Detail, Mark, Placement, Securable

__all__ = ["Detail", "Mark", "Mode", "Placement", "Realm", "Securable"]
