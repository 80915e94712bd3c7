"""What a running site needs: processes, secrets of its own, logs, mail, static files, headers."""
