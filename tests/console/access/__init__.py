"""Tests of the console's pages: access."""
