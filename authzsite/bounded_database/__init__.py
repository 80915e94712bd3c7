"""Django's PostgreSQL backend, whose waits for a database that hangs come to an end."""
