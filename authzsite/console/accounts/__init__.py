"""Accounts: who can sign in, service accounts, tokens, sessions, and one's own profile."""
