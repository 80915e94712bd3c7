"""What one was told, and how one wants to be told."""
