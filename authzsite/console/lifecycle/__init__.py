"""Joiners and leavers: the same access as a colleague, and what becomes of what a leaver has."""
