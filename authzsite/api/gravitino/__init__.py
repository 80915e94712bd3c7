"""Gravitino's REST interface, release 1.3, for its unmodified clients."""

VERSION = "1.3.1"
SEPARATOR = ":"
"""Between the names of nested schemas."""
