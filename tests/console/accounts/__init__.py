"""Tests of the console's pages: accounts."""
