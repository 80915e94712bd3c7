"""MySQL, by the modules of MariaDB."""
