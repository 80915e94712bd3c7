"""Catalog: the tree beside a list of what lies in a container."""
