"""Roles: what they allow and deny, who holds them, two side by side."""
