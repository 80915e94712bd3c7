"""MySQL 8, by the modules of MariaDB."""
