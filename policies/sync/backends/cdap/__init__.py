"""Privileges of a CDAP."""
