"""Policies as code: a realm's access as a readable file, what a file would change, and carrying that out."""
