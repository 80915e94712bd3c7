"""Realms and how each is run: owner, mode, members, the console's own duties, retention."""
