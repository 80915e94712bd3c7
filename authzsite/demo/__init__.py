"""What `make run` shows: people to sign in as, and a real database of a web shop to govern."""
