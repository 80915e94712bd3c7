"""Telling people: each once, in the way they chose, nobody who may not have it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from accounts import people
from accounts.models import Principal, User
from catalog.nodes import Node
from policies import notices
from policies.decisions.seals import unsealed
from policies.errors import Invalid
from policies.lifecycle import expirations
from policies.models import Letter, Notice, NoticeChoice
from policies.notices import delivery, inbox
from policies.notices.kinds import Kind
from policies.requests import notifications
from policies.sentences import Right, say
from policies.services import accounts, erasure, members
from tests.factories import AUTHORITY, BY, a_person, an_account, rewritten
from tests.kept import kept

pytestmark = pytest.mark.django_db

NEWS, QUIET = "test.news", "test.quiet"
OLIVIA, MIA, CARL, ANALYSTS = "user:olivia", "user:mia", "user:carl", "group:analysts"


@pytest.fixture(autouse=True)
def kinds_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known while a test runs: a page of another test lists every kind there is."""
    monkeypatch.setitem(notices.KINDS, NEWS, Kind(NEWS, "of what tests do"))
    monkeypatch.setitem(notices.KINDS, QUIET, Kind(QUIET, "of what tests do quietly", mail=False))


def make_staff(shop: Node) -> None:
    for name in ("olivia", "mia", "carl"):
        account = an_account(name, display_name=f"{name.title()} Lake")
        User.objects.filter(pk=account.pk).update(email=f"{name}@lake.example")


staff = kept(make_staff, on="shop")


def named(*texts: str) -> list[Principal]:
    return [people.ensure(*text.split(":")) for text in texts]


def told(key: str) -> set[str]:
    return set(Notice.objects.filter(key=key).values_list("recipient__name", flat=True))


def unread(name: str) -> int:
    return User.objects.get(username=name).unread


WHO = {
    "a person": ([OLIVIA], {"olivia"}),
    "a group's members, each once": ([ANALYSTS, MIA], {"mia", "carl"}),
    "nobody without an account": (["user:ana"], set()),
    "who is responsible for a service account": (["service:nightly"], {"olivia"}),
}


@pytest.mark.parametrize(("asked", "got"), WHO.values(), ids=WHO)
def test_who_is_told(staff: None, asked: list[str], got: set[str]) -> None:
    [olivia] = named(OLIVIA)
    accounts.make_service("nightly", olivia, by=BY, authority=AUTHORITY)
    assert notices.tell(named(*asked), NEWS, "It rains.", key="rain") == len(got)
    assert told("rain") == got


def test_telling_twice_is_once(staff: None) -> None:
    for _ in range(2):
        notices.tell(named(MIA), NEWS, "It rains.", key="rain")
    assert Notice.objects.filter(key="rain").count() == 1
    assert unread("mia") == 1


def test_a_disabled_person_is_told_nothing(staff: None) -> None:
    accounts.close(User.objects.get(username="mia"), by=BY, authority=AUTHORITY)
    notices.tell(named(ANALYSTS), NEWS, "It rains.", key="rain")
    assert told("rain") == {"carl"}


def test_who_left_a_group_is_not_told(staff: None) -> None:
    [analysts, mia] = named(ANALYSTS, MIA)
    members.leave_group(analysts, mia, by=BY, authority=AUTHORITY)
    notices.tell([analysts], NEWS, "It rains.", key="rain")
    assert told("rain") == {"carl"}


@pytest.mark.parametrize(
    ("kind", "chosen", "urgent", "how"),
    [
        (NEWS, None, False, "mail"),
        (QUIET, None, False, "inbox"),
        (NEWS, "digest", False, "digest"),
        (QUIET, "mail", False, "mail"),
        (NEWS, "nothing", False, None),
        (NEWS, "nothing", True, "mail"),
        (NEWS, "digest", True, "mail"),
    ],
)
def test_in_which_way(staff: None, kind: str, chosen: str | None, urgent: bool, how: str | None) -> None:
    [mia] = named(MIA)
    if chosen:
        NoticeChoice.objects.create(person=mia, kind=kind, how=chosen)
    notices.tell(mia, kind, "It rains.", key="rain", urgent=urgent)
    assert Notice.objects.filter(key="rain").values_list("how", flat=True).first() == how


def test_what_is_settled_waits_for_nobody(staff: None) -> None:
    notices.tell(named(ANALYSTS), NEWS, "{who} asks.", key="request:1", who=a_person("ana"))
    assert unread("mia") == 1
    assert notices.settle("request:1") == 2
    assert unread("mia") == unread("carl") == 0
    assert notices.settle("request:1") == 0


def test_a_notice_names_people_as_they_are_called_now(staff: None) -> None:
    until = timezone.now() + timedelta(days=2)
    notices.tell(
        named(OLIVIA), NEWS, "{who} asks to read {orders}.", key="1", who=a_person("mia"), until=until
    )
    assert Notice.objects.get(key="1").sentence == "Mia Lake asks to read {orders}."
    rewritten(Principal.objects.filter(name="mia"), display_name="Mia Mountain")
    assert Notice.objects.get(key="1").sentence == "Mia Mountain asks to read {orders}."


def test_a_notice_is_read_in_the_language_of_its_reader(staff: None) -> None:
    what = say(notifications.WANTS, some=[say(notifications.READ, name="shop.sales.orders")])
    notices.tell(named(MIA), NEWS, say(notifications.ASKED, what=what), key="1", who=a_person("ana"))
    kept = Notice.objects.get(key="1")
    assert kept.text == "{who} waits for your decision: read shop.sales.orders."
    assert kept.sentence == "ana waits for your decision: read shop.sales.orders."
    with translation.override("de"):
        assert kept.sentence == "ana wartet auf Ihre Entscheidung: shop.sales.orders lesen."


def test_what_is_kept_of_a_notice_does_not_depend_on_who_caused_it(staff: None) -> None:
    with translation.override("de"):
        notices.tell(named(MIA), NEWS, say(notifications.GRANT, name="shop"), key="1")
    assert Notice.objects.get(key="1").text == "grant access to shop"


def test_a_notice_counts_in_each_language(staff: None) -> None:
    for many, english, german in ((1, "1 row of", "1 Zeile mit"), (7, "7 rows of", "7 Zeilen mit")):
        sentence = say(unsealed.PAST, many=many)
        assert sentence.english.startswith(english)
        with translation.override("de"):
            assert str(sentence).startswith(german)


def test_a_right_in_a_notice_is_called_as_its_law_calls_it(staff: None) -> None:
    sentence = say(expirations.RIGHT, right=Right("SELECT_TABLE", "gravitino"), name="shop.sales.orders")
    assert sentence.english == "Read on shop.sales.orders"
    with translation.override("de"):
        assert str(sentence) == "Lesen auf shop.sales.orders"


def test_a_notice_from_before_reads_as_it_was_written(staff: None) -> None:
    """So does one whose sentence is known no more."""
    notices.tell(named(MIA), NEWS, "{who} asks to read {orders}.", key="1", who=a_person("ana"))
    with translation.override("de"):
        assert Notice.objects.get(key="1").sentence == "ana asks to read {orders}."
        Notice.objects.update(code="test.gone")
        assert Notice.objects.get(key="1").sentence == "ana asks to read {orders}."


def test_a_kind_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        notices.kind("test.news", "of what tests do")
    with pytest.raises(ValueError, match="not registered"):
        notices.tell([], "test.nothing", "It rains.", key="rain")


# The inbox


def test_pages_follow_each_other_without_a_gap(staff: None) -> None:
    [mia] = named(MIA)
    for number in range(120):
        notices.tell(mia, QUIET, f"It rains {number}.", key=str(number))
    first = inbox.page(mia, unread=False)
    second = inbox.page(mia, unread=False, before=first.before)
    third = inbox.page(mia, unread=False, before=second.before)
    texts = [row.text for page in (first, second, third) for row in page.rows]
    assert texts == [f"It rains {number}." for number in range(119, -1, -1)]
    assert third.before == 0


def test_the_number_beside_the_bell(staff: None) -> None:
    [mia, olivia] = named(MIA, OLIVIA)
    for number in range(3):
        notices.tell([mia, olivia], QUIET, "It rains.", key=str(number))
    first, *_ = inbox.page(mia, unread=True).rows
    assert inbox.mark_read(mia, [first.pk]) == 1
    assert inbox.mark_read(olivia, [first.pk]) == 0  # not Olivia's
    assert (unread("mia"), unread("olivia")) == (2, 3)
    assert inbox.mark_unread(mia, [first.pk]) == 1
    assert unread("mia") == 3
    assert inbox.mark_read(mia) == 3
    assert unread("mia") == 0


def test_choices_are_kept(staff: None) -> None:
    [mia] = named(MIA)
    inbox.choose(mia, {NEWS: "digest"})
    inbox.choose(mia, {NEWS: "nothing", QUIET: "mail"})
    chosen = {kind.code: how for kind, how in inbox.choices_of(mia)}
    assert (chosen[NEWS], chosen[QUIET]) == ("nothing", "mail")
    with pytest.raises(Invalid):
        inbox.choose(mia, {NEWS: "pigeon"})


def test_an_erased_person_is_forgotten_here_too(staff: None) -> None:
    [mia, olivia] = named(MIA, OLIVIA)
    ghost = an_account("ghost", display_name="Gerda Ghost").principal
    assert ghost is not None
    notices.tell(ghost, NEWS, "{who} asks.", key="1", who=mia)
    notices.tell(olivia, NEWS, "{who} asks.", key="2", who=ghost)
    inbox.choose(ghost, {NEWS: "digest"})
    delivery.post()
    erasure.erase(ghost, by=BY, authority=AUTHORITY)
    assert not Notice.objects.filter(recipient=ghost).exists()
    assert not Letter.objects.filter(recipient=ghost).exists()
    assert not NoticeChoice.objects.filter(person=ghost).exists()
    assert Notice.objects.get(key="2").sentence == "an erased person asks."
