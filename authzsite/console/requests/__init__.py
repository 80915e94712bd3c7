"""Requests for access: the room, asking, one request, deciding, what a request must say, and substitutes."""
