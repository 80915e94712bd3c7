"""The same world made in two systems by the same calls, and the same questions asked of both.

A `Call` is one request, in words that both understand; `worlds` makes them by seed, `compare` sends them to
both sides and says where the answers differ, `shrink` leaves out whatever a difference does not need.
"""
