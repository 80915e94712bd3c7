"""MariaDB 10.11 and newer."""
