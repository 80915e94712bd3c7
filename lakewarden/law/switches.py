"""What is switched off: a metalake or catalog that its owner disabled, in which nothing can be used."""

from __future__ import annotations

from collections.abc import Collection

from lakewarden.law.facts import Key, Level, Lineage

SWITCHED = ("metalake", "catalog")
"""The types of objects that can be switched off."""
WHILE_OFF = {
    "metalake": ("Metalake.loadMetalake", "Metalake.setMetalake", "Metalake.dropMetalake"),
    "catalog": ("Catalog.loadCatalog", "Catalog.setCatalog", "Catalog.dropCatalog", "Owner.", "Permission."),
}
"""How what can be done nevertheless begins: look at it, switch it on, drop it, say who may do what."""
SWITCHED_OFF = "switched_off"
"""The reason of a decision that the law allows, on something that is off."""


def blocking(lineage: Lineage, operation: str, off: Collection[Key]) -> Level | None:
    """The object, on the way to this one or itself, that is off and keeps the operation from being done."""
    for level in lineage:
        if level.key in off and not operation.startswith(WHILE_OFF.get(level.type, ())):
            return level
    return None
