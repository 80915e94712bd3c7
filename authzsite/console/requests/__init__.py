"""Requests for access: lists, asking, one request, deciding, what a request must say, and substitutes."""
