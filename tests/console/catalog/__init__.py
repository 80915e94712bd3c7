"""Tests of the console's pages: catalog."""
