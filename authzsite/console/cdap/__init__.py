"""CDAP realms: rights on names, what the names match, and the entities of an instance."""
