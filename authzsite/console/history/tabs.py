"""The pages of the record, as tabs."""

from __future__ import annotations

from django.urls import reverse

from authzsite.console.kit.display.parts import Tab, Tabs

TABS = (
    ("history", "Changes"),
    ("looks", "Refusals and looks"),
    ("history_archive", "Archive"),
    ("integrity", "Integrity"),
)


def tabs(current: str) -> Tabs:
    """The tabs, each with its page."""
    return Tabs(tuple(Tab(label, reverse(f"console:{code}"), code == current) for code, label in TABS))
