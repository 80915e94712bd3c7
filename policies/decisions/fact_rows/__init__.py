"""The one statement that reads the facts of some principals in a realm, and its parts."""
