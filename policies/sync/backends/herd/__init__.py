"""Authorizations of a FINRA Herd."""
