"""Who works on a backend, for how long, and how far they are."""
