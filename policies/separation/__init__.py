"""Separation of duties: nobody has both of two things, unless somebody answers for it until an end."""

from policies.separation.book import Book, Clash, of_realm
from policies.separation.guard import check

__all__ = ["Book", "Clash", "check", "of_realm"]
