"""Tests of the console's pages: inbox."""
