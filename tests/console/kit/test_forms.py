"""The fields of the console's forms: what they read, what they refuse, and in which words."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django import forms
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.kit.forms import (
    ChoicesField,
    ConfirmForm,
    ConsoleForm,
    PrincipalField,
    ReasonField,
    SegmentsField,
    TextField,
)
from authzsite.console.kit.moment_fields import (
    DayField,
    ExpirationField,
    MomentField,
)
from tests.factories import a_person
from tests.markup import on_one_line

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


class Everything(ConsoleForm):
    name = TextField(help_text="As it is written.")
    kind = SegmentsField(choices=(("user", "Person"), ("group", "Group")), otherwise="user")
    duty = ChoicesField(error_messages={"required": "Choose one."})
    reason = ReasonField()

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["duty"].offer([("a", "First", "does this"), ("b", "Second", "does that")])


def filled(**changed: str) -> Everything:
    return Everything(QueryDict("name=ana&kind=group&duty=a&reason=why", mutable=True) | changed)


class Naming(ConsoleForm):
    who = PrincipalField(search=lambda text: Principal.objects.filter(name__contains=text).order_by("name"))
    reason = ReasonField()


def drawn(field: forms.BoundField) -> str:
    return on_one_line(render_to_string("console/kit/field.html", {"field": field, "here": "/"}))


def test_what_was_typed_is_read() -> None:
    form = Everything(QueryDict("name=%20ana%20&kind=group&duty=b&duty=x&duty=b&reason=" + "r" * 3000))
    assert form.is_valid()
    assert form.cleaned_data == {"name": "ana", "kind": "group", "duty": ["b"], "reason": "r" * 2000}


def test_a_name_with_a_character_that_the_database_cannot_keep_is_refused() -> None:
    form = Everything(QueryDict("name=an%00a&duty=a"))
    assert not form.is_valid()
    assert form.errors["name"] == ["It contains a character that cannot be stored."]
    assert "\0" not in drawn(form["name"])


def test_what_is_none_of_a_few_counts_as_the_usual_one() -> None:
    form = Everything(QueryDict("name=ana&duty=a&kind=nonsense"))
    assert form.is_valid() and form.cleaned_data["kind"] == "user"
    assert 'value="user" checked' in drawn(form["kind"])


def test_what_is_wrong_is_told_beside_its_field_and_tied_to_it() -> None:
    form = Everything(QueryDict("name=&nonce=aaaaaaaaaa"))
    assert not form.is_valid()
    assert form.errors["duty"] == ["Choose one."]
    assert 'aria-describedby="name-help name-error"' in drawn(form["name"])
    assert 'aria-invalid="true"' in drawn(form["name"])
    assert 'id="name-error"' in drawn(form["name"])
    assert '<fieldset class="field" aria-describedby="duty-error"' in drawn(form["duty"])
    assert '<small id="duty-2">does that</small>' in drawn(form["duty"])


def test_texts_are_escaped_where_they_are_drawn() -> None:
    form = Everything(QueryDict(mutable=True) | {"name": "<script>"})
    form.look()
    assert "<script>" not in drawn(form["name"]) and "&lt;script&gt;" in drawn(form["name"])


def test_looking_complains_of_nothing_and_starts_with_the_initial_values() -> None:
    form = Everything(QueryDict("duty=a"), initial={"name": "ana"})
    form.look(begin=True)
    assert not form.errors and form.cleaned_data["duty"] == ["a"]
    assert form["name"].value() == "ana" and form["kind"].value() == "user"
    sent = Everything(QueryDict("duty=a"), initial={"name": "ana"})
    sent.look()
    assert sent["name"].value() is None


@pytest.mark.parametrize(
    ("typed", "kept"), [("a" * 24, True), ("a" * 9, False), ("a" * 41, False), ("a-" * 9, False)]
)
def test_the_nonce_is_the_forms_own_or_a_new_one(typed: str, kept: bool) -> None:
    form = Everything(QueryDict(f"nonce={typed}"))
    assert (form.nonce == typed) is kept
    assert form.nonce == form.nonce and 10 <= len(form.nonce) <= 40


def test_a_name_that_has_to_be_typed_is_held_against_what_is_taken_away() -> None:
    assert ConfirmForm(QueryDict("reason=x")).is_valid()
    assert ConfirmForm(QueryDict("name=sales"), typed="sales").is_valid()
    wrong = ConfirmForm(QueryDict("name=Sales"), typed="sales")
    assert not wrong.is_valid() and wrong.errors["name"] == ["Type sales as it is written above."]
    assert "Type <code>sales</code> to continue" in drawn(wrong["name"])


# Moments


class Ending(ConsoleForm):
    begin = MomentField(later=True, required=False)
    until = ExpirationField()
    day = DayField(required=False)


def ending(**typed: str) -> Ending:
    with timezone.override(BERLIN):
        form = Ending(QueryDict(mutable=True) | {"until": "2130-01-01T10:00"} | typed)
        form.full_clean()
    return form


def test_a_moment_is_read_in_the_readers_own_zone() -> None:
    form = ending(begin="2130-07-15T09:00", until="2130-01-15T09:00", day="2130-02-01")
    assert form.cleaned_data["begin"] == datetime(2130, 7, 15, 7, tzinfo=UTC)
    assert form.cleaned_data["until"] == datetime(2130, 1, 15, 8, tzinfo=UTC)
    assert form.cleaned_data["day"] == date(2130, 2, 1)


def test_of_an_hour_that_comes_twice_nobody_gets_more_than_was_meant() -> None:
    form = ending(begin="2030-10-27T02:30", until="2030-10-27T02:30")
    assert form.cleaned_data["begin"] - form.cleaned_data["until"] == datetime(2030, 1, 1, 1) - datetime(
        2030, 1, 1
    )


@pytest.mark.parametrize("name", ["begin", "until"])
def test_an_hour_that_the_clock_leaves_out_is_refused_in_plain_words(name: str) -> None:
    form = ending(**{name: "2030-03-31T02:30"})
    assert "does not exist in Europe/Berlin because the clocks go forward" in form.errors[name][0]


@pytest.mark.parametrize(
    "typed", ["", "31 June", "2030-06-31T10:00", "0001-01-01T00:00", "9999-12-31T23:59", "2020-01-01T10:00"]
)
def test_what_is_no_moment_to_come_is_refused(typed: str) -> None:
    assert ending(until=typed).errors["until"] == ["Enter a date and a time in the future."]


@pytest.mark.parametrize("typed", ["tomorrow", "2030-02-30"])
def test_what_is_no_day_is_refused(typed: str) -> None:
    assert ending(day=typed).errors["day"] == ["Enter a day."]


# People and groups


@pytest.fixture
def people(db: None) -> list[Principal]:
    return [a_person(name) for name in ("ana", "anabel", "bob")]


def naming(query: str) -> Naming:
    form = Naming(QueryDict(query))
    form.full_clean()
    return form


def test_those_named_are_chosen_in_the_order_in_which_they_were_named(people: list[Principal]) -> None:
    form = naming("who=user:bob&who=user:ana&who=user:bob&who=user:nobody&who=%00")
    assert [item.name for item in form.cleaned_data["who"]] == ["bob", "ana"]
    assert 'value="user:bob"' in drawn(form["who"]) and "Add another" in drawn(form["who"])


def test_a_button_adds_and_another_drops(people: list[Principal]) -> None:
    assert [item.name for item in naming("who=user:ana&add=user:bob").cleaned_data["who"]] == ["ana", "bob"]
    assert [item.name for item in naming("who=user:ana&who=user:bob&drop=user:ana").cleaned_data["who"]] == [
        "bob"
    ]


def test_a_name_and_enter_choose_the_one_who_bears_it(people: list[Principal]) -> None:
    assert [item.name for item in naming("find=ana&step=look").cleaned_data["who"]] == ["ana"]
    assert naming("find=ana&step=look")["who"].choice.find == ""


def test_several_who_match_are_offered(people: list[Principal]) -> None:
    form = naming("find=an&step=look")
    assert form.errors["who"] == ["Choose one of these, or clear the field."]
    assert [option["code"] for option in form["who"].options] == ["user:ana", "user:anabel"]


def test_a_name_that_nobody_bears_is_told_while_one_looks_and_nothing_else_is(
    people: list[Principal],
) -> None:
    form = Naming(QueryDict("find=zoe&step=look"))
    form.look()
    assert form.errors["who"] == ["No person here has that name."]
    form = Naming(QueryDict("step=look"))
    form.look()
    assert not form.errors
    assert naming("step=save").errors["who"] == ["Enter at least one person or group."]


def test_only_the_last_counts_where_there_can_be_one(people: list[Principal]) -> None:
    form = Naming(QueryDict("who=user:ana&who=user:bob"))
    form.fields["who"].at_most = 1
    assert form.is_valid() and [item.name for item in form.cleaned_data["who"]] == ["bob"]


def test_who_is_meant_is_asked_once(people: list[Principal], django_assert_num_queries: Any) -> None:
    form = Naming(QueryDict("who=user:ana&find=bo"))
    with django_assert_num_queries(2):
        form.look()
        drawn(form["who"])
