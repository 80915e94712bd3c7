"""What several kinds share: REST, deadlines, supervised calls."""
