"""The rooms for those who come and those who go: the same access as somebody, and what a leaver leaves."""
