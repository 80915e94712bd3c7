"""Backends kept equal to what was decided: read, compared, planned, applied, and read again."""
