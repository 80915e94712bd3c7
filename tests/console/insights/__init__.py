"""Tests of the console's pages: insights."""
