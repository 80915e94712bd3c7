"""What somebody has and owns, line by line: handed over, taken away, or given to somebody else as well."""
