"""What the record may hold of a secret: a mark that shows another in its place and gives nothing away."""

from __future__ import annotations

import hashlib

from accounts.models import Token


def password_mark(stored: str) -> str:
    """The mark of a password as it is stored, salted and hashed."""
    return _mark(f"password:{stored}")


def token_mark(token: Token) -> str:
    return _mark(f"token:{token.digest}")


def subject_mark(issuer: str, subject: str) -> str:
    """The mark of whom an identity provider knows."""
    return _mark(f"subject:{issuer}|{subject}")


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
