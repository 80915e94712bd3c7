"""A person's notices, and how they want to get them."""
