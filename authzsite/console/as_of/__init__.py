"""The past of objects, people and roles: how things stood at a moment."""
