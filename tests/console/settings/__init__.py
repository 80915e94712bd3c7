"""Tests of the console's pages: settings."""
