"""What the processes of the site say of their own work: log lines, the ids of requests, traces."""
