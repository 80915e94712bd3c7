"""Tests of the console's pages: as_of."""
