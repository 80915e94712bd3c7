"""Roles, denials and owners of an Apache Gravitino."""
