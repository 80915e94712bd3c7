"""Tests of the console's pages: home."""
