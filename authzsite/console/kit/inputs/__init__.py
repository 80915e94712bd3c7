"""What somebody picks in a form: people, objects, moments."""
