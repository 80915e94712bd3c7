"""Servers that stand in for those which cannot be run here."""
