"""Telling people what concerns them: in their inbox, by mail, and in the chat of their team."""

from policies.notices.kinds import KINDS, kind
from policies.notices.notify import settle, tell

__all__ = ["KINDS", "kind", "settle", "tell"]
