"""Rows that bear the seal of the writer, and rows written past the console."""
