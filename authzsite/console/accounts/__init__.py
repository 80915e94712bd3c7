"""Accounts: who can sign in, service accounts, tokens, sessions, and the own profile."""
