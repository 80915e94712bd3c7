"""Sync: whether what was decided here is so in the backends."""
