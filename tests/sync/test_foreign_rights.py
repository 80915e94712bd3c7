"""What owners do about rights that others gave in the backend: adopt, have taken, accept until a date."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from policies.decisions import ask
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import Backend, BackendFinding, Event, ForeignOrder, Grant
from policies.record import history
from policies.record.history import Filter
from policies.sync import worker
from policies.sync.actions import foreign_rights
from tests.factories import a_role, acting, admit, rewritten, the
from tests.sync.conftest import Source

ORDERS = "shop.sales.orders"


@pytest.fixture
def looked(governed: Backend) -> Backend:
    """Olivia's sales with legacy's foreign grant on orders, looked at once."""
    worker.deliver(governed)
    return governed


def finding(holder: str = "legacy", place: str = "sales.orders", what: str = "SELECT") -> int:
    return BackendFinding.objects.get(kind="foreign", holder=holder, place=place, what=what).pk


def held_directly(source: Source, login: str) -> list[tuple]:
    return source.run(
        "SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a"
        f" WHERE a.grantee = '{login}'::regrole AND c.relowner <> a.grantee ORDER BY 1, 2"
    )


def test_a_foreign_grant_that_is_revoked_is_gone_when_read_again(looked: Backend, source: Source) -> None:
    foreign_rights.revoke(finding(), by=acting("olivia"), reason="nobody knows what it is for")
    assert source.reads("legacy")
    report = worker.deliver(looked)
    assert report is not None
    assert report.settled
    assert not source.reads("legacy")
    order = ForeignOrder.objects.get()
    assert order.done is not None
    assert not BackendFinding.objects.filter(kind="foreign", place="sales.orders").exists()
    # what nobody decided about stays: legacy's USAGE on the schema
    assert BackendFinding.objects.filter(kind="foreign", place="sales", what="USAGE").exists()


def test_a_foreign_grant_that_is_adopted_becomes_ours_without_a_gap(looked: Backend, source: Source) -> None:
    admit(the("metalake"), "legacy")
    legacy = people.ensure("user", "legacy")
    admit_to_the_catalog(legacy)
    foreign_rights.adopt(finding(place="sales", what="USAGE"), by=acting("olivia"))
    foreign_rights.adopt(finding(), by=acting("olivia"), reason="the nightly report reads it")
    grant = Grant.objects.open().get(privilege="SELECT_TABLE", securable=the("table", ORDERS).id)
    assert grant.origin == "adopted"
    assert ask.ask(legacy, "read", the("table", ORDERS))
    worker.deliver(looked)
    assert source.reads("legacy")
    assert held_directly(source, "legacy") == []
    assert not BackendFinding.objects.filter(kind="foreign").exists()
    assert not ForeignOrder.objects.filter(done__isnull=True).exists()


def admit_to_the_catalog(who: Principal) -> None:
    from policies.services import members
    from tests.factories import AUTHORITY, BY

    members.join_group(people.ensure("group", "staff"), who, by=BY, authority=AUTHORITY)


def test_nobody_is_cut_off_by_adopting_what_cannot_be_used_yet(looked: Backend, source: Source) -> None:
    """Legacy may not use the catalog, so our role gives nothing: what others gave stays until it does."""
    admit(the("metalake"), "legacy")
    foreign_rights.adopt(finding(), by=acting("olivia"))
    worker.deliver(looked)
    assert source.reads("legacy")
    assert ForeignOrder.objects.filter(done__isnull=True).exists()
    assert held_directly(source, "legacy") == [("orders", "SELECT")]


def test_what_its_holder_is_denied_here_is_not_adopted(looked: Backend, source: Source) -> None:
    """The denial would beat the grant, and what is there would stay for ever."""
    admit(the("metalake"), "legacy")
    a_role(the("metalake"), "no_legacy", "deny SELECT_TABLE on schema shop.sales", held_by=("legacy",))
    with pytest.raises(Invalid, match="Here legacy is denied this"):
        foreign_rights.adopt(finding(), by=acting("olivia"))
    assert not ForeignOrder.objects.exists()
    assert not Grant.objects.open().filter(securable=the("table", ORDERS).id).exists()
    foreign_rights.revoke(finding(), by=acting("olivia"))
    worker.deliver(looked)
    assert not source.reads("legacy")


def test_who_may_not_admit_members_cannot_adopt_a_strangers_grant(looked: Backend) -> None:
    with pytest.raises(Refused, match="legacy is not a member of demo"):
        foreign_rights.adopt(finding(), by=acting("olivia"))
    assert not ForeignOrder.objects.exists()
    assert not Grant.objects.filter(origin="adopted").exists()
    # the metalake's owner admits legacy with it
    foreign_rights.adopt(finding(), by=acting("marek"))
    assert Grant.objects.filter(origin="adopted").exists()


@pytest.mark.parametrize("deed", [foreign_rights.adopt, foreign_rights.revoke, foreign_rights.reopen])
def test_only_who_may_grant_decides_about_foreign_grants(looked: Backend, deed) -> None:
    with pytest.raises(Refused):
        deed(finding(), by=acting("mia"))
    with pytest.raises(Refused):
        foreign_rights.accept(finding(), timezone.now() + timedelta(days=1), by=acting("mia"), reason="so")


def test_what_says_less_than_any_right_here_is_not_widened(looked: Backend, source: Source) -> None:
    """Write here means update and delete too; who has only INSERT is not given the rest by adopting."""
    source.run("GRANT INSERT ON sales.orders TO legacy")
    worker.look(looked)
    about = foreign_rights.foreign(finding())
    assert about.privileges == ("SELECT_TABLE",)
    assert about.left == ("INSERT",)


def test_all_of_writing_is_adopted_as_writing(looked: Backend, source: Source) -> None:
    source.run("GRANT INSERT, UPDATE, DELETE ON sales.orders TO legacy WITH GRANT OPTION")
    worker.look(looked)
    about = foreign_rights.foreign(finding())
    assert about.privileges == ("MODIFY_TABLE",)
    assert about.left == ()


def test_a_role_of_theirs_is_no_person_to_adopt(looked: Backend, source: Source) -> None:
    source.run("CREATE ROLE lw_test_reporting NOLOGIN; GRANT SELECT ON sales.orders TO lw_test_reporting")
    worker.look(looked)
    with pytest.raises(Invalid, match="a role in the backend, not a person"):
        foreign_rights.adopt(finding("lw_test_reporting"), by=acting("olivia"))


def test_an_accepted_grant_comes_back_after_its_date(looked: Backend, source: Source) -> None:
    until = timezone.now() + timedelta(days=30)
    foreign_rights.accept(finding(), until, by=acting("olivia"), reason="until the report has moved")
    worker.look(looked)
    row = BackendFinding.objects.get(pk=finding())
    assert (row.accepted_until, row.accepted_reason) == (until, "until the report has moved")
    assert row.accepted_by == people.ensure("user", "olivia")
    assert source.reads("legacy")
    foreign_rights.reopen(row.pk, by=acting("olivia"))
    assert BackendFinding.objects.get(pk=row.pk).accepted_until is None


def test_a_grant_that_was_taken_and_given_anew_is_not_accepted_any_more(
    looked: Backend, source: Source
) -> None:
    foreign_rights.accept(finding(), timezone.now() + timedelta(days=30), by=acting("olivia"), reason="known")
    source.run("REVOKE SELECT ON sales.orders FROM legacy")
    worker.look(looked)
    source.run("GRANT SELECT ON sales.orders TO legacy")
    worker.look(looked)
    assert BackendFinding.objects.get(pk=finding()).accepted_until is None


@pytest.mark.parametrize(
    ("days", "reason", "told"), [(-1, "so", "is in the past"), (1, "  ", "Give a reason for leaving it")]
)
def test_accepting_wants_a_date_and_a_reason(looked: Backend, days: int, reason: str, told: str) -> None:
    until = timezone.now() + timedelta(days=days)
    with pytest.raises(Invalid, match=told):
        foreign_rights.accept(finding(), until, by=acting("olivia"), reason=reason)


def test_a_decision_is_made_once(looked: Backend) -> None:
    foreign_rights.revoke(finding(), by=acting("olivia"))
    with pytest.raises(Conflict):
        foreign_rights.adopt(finding(), by=acting("marek"))
    with pytest.raises(NotFound):
        foreign_rights.revoke(0, by=acting("olivia"))


def test_what_the_backend_refuses_is_kept_in_its_own_words(looked: Backend, source: Source) -> None:
    source.run("GRANT SELECT ON sales.orders TO legacy WITH GRANT OPTION")
    source.run("GRANT SELECT ON sales.orders TO carl", as_="legacy")
    worker.look(looked)
    foreign_rights.revoke(finding(), by=acting("olivia"))
    worker.deliver(looked)
    assert "dependent privileges exist" in ForeignOrder.objects.filter(done__isnull=True)[0].error
    assert source.reads("legacy")
    foreign_rights.revoke(finding("carl"), by=acting("olivia"))
    for _ in range(2):
        worker.look(looked)
    assert held_directly(source, "legacy") == held_directly(source, "carl") == []


def test_the_record_says_who_decided_what_without_naming_anybody(looked: Backend) -> None:
    foreign_rights.revoke(finding(), by=acting("olivia"), reason="old")
    foreign_rights.accept(
        finding(place="sales", what="USAGE"),
        timezone.now() + timedelta(days=5),
        by=acting("olivia"),
        reason="known",
    )
    events = Event.objects.filter(kind__startswith="foreign.")
    assert events.count() == 2
    assert all("legacy" not in str(event.data) for event in events)
    seen = history.sight(people.ensure("user", "olivia"), [the("metalake")])
    texts = [line.text for entry in history.page(Filter(), seen).entries for line in entry.lines]
    assert any(text.startswith("had SELECT on shop.sales.orders revoked from legacy in") for text in texts)


def test_nothing_is_asked_of_a_backend_that_is_only_watched(looked: Backend, source: Source) -> None:
    rewritten(Backend.objects.all(), policy="report")
    with pytest.raises(Invalid, match="only reports: nothing is changed there"):
        foreign_rights.revoke(finding(), by=acting("olivia"))
    worker.deliver(Backend.objects.get())
    assert source.reads("legacy")


def test_nothing_is_taken_while_a_backend_only_reports(looked: Backend, source: Source) -> None:
    foreign_rights.revoke(finding(), by=acting("olivia"))
    rewritten(Backend.objects.all(), policy="report")
    worker.deliver(Backend.objects.get())
    assert source.reads("legacy")
    rewritten(Backend.objects.all(), policy="repair")
    worker.look(Backend.objects.get())
    assert not source.reads("legacy")
