"""Herd realms: namespaces with their data owners, the grid of permissions, roles and user ids."""
