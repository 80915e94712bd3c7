"""Access reviews: campaigns, the work-list, progress by reviewer, and results."""
