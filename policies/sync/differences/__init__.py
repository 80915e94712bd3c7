"""What a comparison found to differ: kept as rows, read in words, and what was decided about it."""
