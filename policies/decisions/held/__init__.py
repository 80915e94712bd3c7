"""Facts about many people, held in the process and proved fresh by one statement."""
