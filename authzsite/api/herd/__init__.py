"""Herd's own calls for namespaces and what users may do in them, as its clients know them, JSON and XML."""
