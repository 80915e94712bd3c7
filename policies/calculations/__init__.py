"""Effects that are too large to wait for: worked out by a worker, followed, kept until the realm moves."""
