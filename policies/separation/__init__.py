"""Separation of duties: nobody has both of two things, unless somebody answers for it until an end."""

from policies.separation.invariant import check
from policies.separation.rules import Book, Separated, Violation, of_realm

__all__ = ["Book", "Separated", "Violation", "check", "of_realm"]
