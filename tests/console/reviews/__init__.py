"""Tests of the console's pages: reviews."""
