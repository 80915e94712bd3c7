"""Tests of the console's pages: separation."""
