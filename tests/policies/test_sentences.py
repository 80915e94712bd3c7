"""Sentences that were kept in English alone are read in the reader's language."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import translation

from lakewarden.spark.pipelines import hint_phrases
from lakewarden.spark.pipelines.hint_phrases import phrase
from policies.analytics import hint_words
from policies.models import RequestPart
from policies.requests import record_words
from policies.requests.durations import lasting
from policies.requests.record_words import given_said, part_said
from policies.requests.steps import SENTENCES
from policies.sentences import WORDINGS, Said
from policies.sync.differences import bypass_words, findings

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
    ("only Read, Write for 1 day and 12 hours", "nur Lesen, Schreiben für 1 Tag und 12 Stunden"),
    (
        "Read on table demo/shop.sales.orders until 2026-11-27T18:00:00+00:00",
        "Lesen auf Tabelle demo/shop.sales.orders bis 2026-11-27T18:00:00+00:00",
    ),
)
OF_HINTS = (
    ("why", "Can no longer sign in", "Kann sich nicht mehr anmelden"),
    (
        "why",
        "Not active here since 2026-01-02; no job reported a use since 2026-01-03",
        "Hier nicht aktiv seit 2026-01-02; seit 2026-01-03 hat kein Job eine Nutzung gemeldet",
    ),
    ("given", "; granted a day ago", "; seit gestern gewährt"),
    ("given", "; granted 12 days ago", "; vor 12 Tagen gewährt"),
    ("others", "2 other grants here", "2 andere Berechtigungen hier"),
    (
        "others",
        ", because another grant here denies it too",
        ", denn es ist auch durch eine andere Berechtigung hier verboten",
    ),
    ("others", "what is granted on table:a.b", "das, was auf table:a.b gewährt ist"),
    (
        "holds",
        "1 role and 2 grants and 1 object of its own",
        "1 Rolle und 2 Berechtigungen und 1 eigenes Objekt",
    ),
)
TAKE = (
    "The account that Lakewarden uses in PostgreSQL may not act as bob, who granted this, "
    "so it cannot revoke it."
)


@pytest.mark.parametrize("kept, german", OF_REQUESTS)
def test_what_the_record_says_of_a_request_is_translated(kept: str, german: str) -> None:
    assert_read(kept, german, lambda text: record_words.in_readers_language("given", text, {}))


@pytest.mark.parametrize("name, kept, german", OF_HINTS)
def test_what_a_hint_says_is_translated(name: str, kept: str, german: str) -> None:
    assert_read(kept, german, lambda text: hint_words.in_readers_language(name, text))


def test_what_hinders_a_backend_is_translated() -> None:
    german = (
        "Das Konto, das Lakewarden in PostgreSQL nutzt, darf nicht als bob handeln. "
        "Von dort stammt das Recht, deshalb kann Lakewarden es nicht entziehen."
    )
    assert_read(TAKE, german, findings.hindrance_in_words)


OF_BYPASSES = (
    ("superuser", "Superuser"),
    ("owns 2 tables or views, as shop_owner", "besitzt 2 Tabellen oder Views, als shop_owner"),
    ("reads every table (pg_read_all_data)", "liest jede Tabelle (pg_read_all_data)"),
    ("may change every policy of the service", "darf jede Richtlinie des Dienstes ändern"),
    (
        "select though it is denied here, by policy reads on call on database sales; table *",
        "select, obwohl es hier verboten ist, durch Richtlinie reads on call auf database sales; table *",
    ),
    (
        "is denied all, also what is given here, by policy theirs on database s*",
        "ist alles verboten, auch was hier gewährt ist, durch Richtlinie theirs auf database s*",
    ),
    ("owns files or folders in it", "besitzt Dateien oder Ordner darin"),
    ("READ, ENTER as the owning group", "READ, ENTER als besitzende Gruppe"),
    ("READ by the bits for others", "READ durch die Bits für andere"),
    ("flies", "flies"),
)


@pytest.mark.parametrize("kept, german", OF_BYPASSES)
def test_what_a_bypass_is_is_translated(kept: str, german: str) -> None:
    assert_read(kept, german, bypass_words.in_readers_language)


OF_UNGOVERNABLE = (
    (
        "table stock.bo\\txes cannot be governed: its name has control characters",
        "Tabelle stock.bo\\txes kann nicht verwaltet werden: Der Name enthält Steuerzeichen",
    ),
    (
        "schema s cannot be governed: its name is not 1 to 255 characters",
        "Schema s kann nicht verwaltet werden: Der Name hat nicht 1 bis 255 Zeichen",
    ),
    ("a strange thing", "a strange thing"),
)


@pytest.mark.parametrize("kept, german", OF_UNGOVERNABLE)
def test_why_an_object_cannot_be_governed_is_translated(kept: str, german: str) -> None:
    assert_read(kept, german, findings.ungovernable_in_words)


PART = RequestPart(kind="role", name="audit for 30 days", privileges=[])
NAMED_LIKE_A_SENTENCE = (
    (part_said(PART), "Rolle audit for 30 days"),
    (given_said(PART, [], lasting("P7D"), None), "Rolle audit for 30 days für 7 Tage"),
    (given_said(PART, [], None, "2026-11-27"), "Rolle audit for 30 days bis 2026-11-27"),
)


@pytest.mark.parametrize("said, german", NAMED_LIKE_A_SENTENCE)
def test_a_name_may_have_the_words_of_the_sentence(said: Said, german: str) -> None:
    kept = {SENTENCES: {"given": said.as_data()}}
    with translation.override("de"):
        assert record_words.in_readers_language("given", said.english, kept) == german


def test_what_a_hint_says_by_codes_is_translated() -> None:
    others = phrase(hint_phrases.DENIED_TOO, others=phrase(hint_phrases.HERE, many=2))
    holds = [phrase(hint_phrases.ROLES, many=1), phrase(hint_phrases.GRANTS, many=2)]
    with translation.override("de"):
        read = hint_words.in_readers_language
        assert read("others", others) == ", denn es ist auch durch 2 andere Berechtigungen hier verboten"
        assert read("holds", holds) == "1 Rolle und 2 Berechtigungen"
        assert read("why", hint_words.asleep(None, None).as_data()).startswith("Hier noch nie aktiv")


def test_every_phrase_of_a_pipeline_has_its_words() -> None:
    codes = {value for name, value in vars(hint_phrases).items() if name.isupper()}
    assert codes <= set(WORDINGS)


def test_a_wording_that_is_known_no_more_stays() -> None:
    with translation.override("de"):
        assert record_words.in_readers_language("what", "wishes for the moon", {}) == "wishes for the moon"
        assert hint_words.in_readers_language("why", "It sleeps") == "It sleeps"


def assert_read(kept: str, german: str, read: Callable[[str], str]) -> None:
    """In English it is as it was kept, but that lists are joined by commas."""
    with translation.override("en"):
        assert read(kept).replace(" and ", ", ") == kept.replace(" and ", ", ")
    with translation.override("de"):
        assert read(kept) == german
