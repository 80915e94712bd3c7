"""Tests of the console's pages: cdap."""
