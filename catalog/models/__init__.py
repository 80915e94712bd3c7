from catalog.models.realms import Mode, Realm
from catalog.models.securables import Detail, Placement, Securable

__all__ = ["Detail", "Mode", "Placement", "Realm", "Securable"]
