"""What the kinds share that keep access lists on trees of files."""
