"""Home: what waits, what ends, what somebody owns and reaches; the first steps on an empty site."""
