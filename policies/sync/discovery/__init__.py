"""Objects and owners taken over from a backend, and objects that are no longer there."""
