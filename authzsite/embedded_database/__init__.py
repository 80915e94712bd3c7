"""Django's PostgreSQL backend, which starts the embedded server with the first connection."""
