"""Who somebody is by the word of a system that the settings trust to know people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """A name to sign in as, and what the same system says besides; `groups` is None where it says nothing."""

    name: str
    display_name: str = ""
    mail: str = ""
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Subject:
    """Who somebody is to an identity provider, for good; names there may change and go to others."""

    provider: str
    issuer: str
    id: str
