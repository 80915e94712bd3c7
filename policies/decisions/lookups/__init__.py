"""Reverse lookups: who can reach an object, what a person can reach, which names a search may show."""
