"""Tests of the console's pages: objects."""
