"""Tests of the console's pages: history."""
