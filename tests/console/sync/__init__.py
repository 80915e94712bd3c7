"""Tests of the console's pages: sync."""
