"""Rules of separation of duties: what they keep apart, conflicts, and exceptions."""
