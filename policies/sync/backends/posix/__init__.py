"""Access lists of a mounted tree of files."""
