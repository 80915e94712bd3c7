"""CDAP realms asked through AuthZEN."""
