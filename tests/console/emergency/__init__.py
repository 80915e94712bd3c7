"""Tests of the console's pages: emergency."""
