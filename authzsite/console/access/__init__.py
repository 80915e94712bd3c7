"""Granting and revoking, on one object or many, with what each change does before it is saved."""
