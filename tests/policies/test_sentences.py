"""Sentences that were kept in English alone are read in the reader's language."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import translation

from policies.analytics import hint_words
from policies.requests import record_words
from policies.sync import findings

OF_REQUESTS = (
    ("all", "alle Teile"),
    ("read shop.sales.orders", "shop.sales.orders lesen"),
    (
        "read shop.sales.orders, write shop.stock and 2 more",
        "shop.sales.orders lesen, shop.stock schreiben und 2 weitere",
    ),
    ("use schema shop.sales, hold role sales_read", "Schema shop.sales nutzen, Rolle sales_read haben"),
    (
        "Use schema, Read on table demo/shop.sales.orders, membership of demo, role demo/x",
        "Schema nutzen, Lesen auf Tabelle demo/shop.sales.orders, Mitgliedschaft in demo, Rolle demo/x",
    ),
    ("only Read, Write for 1 day and 12 hours", "nur Lesen, Schreiben für 1 Tag, 12 Stunden"),
    (
        "Read on table demo/shop.sales.orders until 2026-11-27T18:00:00+00:00",
        "Lesen auf Tabelle demo/shop.sales.orders bis 2026-11-27T18:00:00+00:00",
    ),
)
OF_HINTS = (
    ("why", "Cannot sign in any more", "Kann sich nicht mehr anmelden"),
    (
        "why",
        "Has not been here since 2026-01-02, no job reported a use since 2026-01-03",
        "War seit 2026-01-02 nicht hier, seit 2026-01-03 hat kein Job eine Nutzung gemeldet",
    ),
    ("given", "; granted a day ago", "; seit gestern gewährt"),
    ("given", "; granted 12 days ago", "; vor 12 Tagen gewährt"),
    ("others", "2 other grants here", "2 andere Berechtigungen hier"),
    (
        "others",
        ", because another grant here denies it too",
        ", denn es ist auch durch eine andere Berechtigung hier verboten",
    ),
    (
        "holds",
        "1 role and 2 grants and 1 object of its own",
        "1 Rolle und 2 Berechtigungen und 1 eigenes Objekt",
    ),
)
TAKE = (
    "The account that Lakewarden uses in PostgreSQL may not act as bob, who gave this, so it cannot take it."
)


@pytest.mark.parametrize("kept, german", OF_REQUESTS)
def test_what_the_record_says_of_a_request_is_translated(kept: str, german: str) -> None:
    assert_read(kept, german, record_words.in_readers_language)


@pytest.mark.parametrize("name, kept, german", OF_HINTS)
def test_what_a_hint_says_is_translated(name: str, kept: str, german: str) -> None:
    assert_read(kept, german, lambda text: hint_words.in_readers_language(name, text))


def test_what_hinders_a_backend_is_translated() -> None:
    german = (
        "Das Konto, das Lakewarden in PostgreSQL nutzt, darf nicht als bob handeln. "
        "Von dort stammt das Recht, deshalb kann Lakewarden es nicht entziehen."
    )
    assert_read(TAKE, german, findings.hindrance_in_words)


def test_a_wording_that_is_known_no_more_stays() -> None:
    with translation.override("de"):
        assert record_words.in_readers_language("wishes for the moon") == "wishes for the moon"
        assert hint_words.in_readers_language("why", "It sleeps") == "It sleeps"


def assert_read(kept: str, german: str, read: Callable[[str], str]) -> None:
    """In English it is as it was kept, but that lists are joined by commas."""
    with translation.override("en"):
        assert read(kept).replace(" and ", ", ") == kept.replace(" and ", ", ")
    with translation.override("de"):
        assert read(kept) == german
