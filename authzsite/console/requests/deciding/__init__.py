"""Deciding requests: one or several, with what speaks for and against."""
