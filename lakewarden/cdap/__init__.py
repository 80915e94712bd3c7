"""CDAP's own commands and JSON, for the console's machine and for any other."""
