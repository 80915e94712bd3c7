"""Who somebody is at an identity provider and in the directory: what no change wrote there is told."""

from __future__ import annotations

import pytest

from accounts.identities import Identity, Subject
from accounts.models import DirectoryEntry, ExternalSignIn, User
from accounts.people import ensure, make_account
from policies.authority import DIRECTORY, of_system
from policies.services import accounts, directory, erasure, external_accounts
from policies.services.directory import GroupData, PersonData
from tests.factories import AUTHORITY, BY
from tests.policies.superuser import past_triggers
from tests.policies.verdicts import is_reported, whole

pytestmark = pytest.mark.django_db
ISSUER = "https://id.example.org"


def subject(number: str) -> Subject:
    return Subject("Keycloak", ISSUER, number)


def signs_in(name: str, number: str, shown: str = "") -> User:
    return external_accounts.admit_subject(subject(number), Identity(name, shown), joins=False)


def test_ways_to_sign_in_that_the_console_made_are_whole() -> None:
    ana = signs_in("ana", "1")
    signs_in("ana", "1", "Ana Lima")
    signs_in("eve", "2")
    ben = make_account("ben")
    external_accounts.connect(ben, subject("3"), by=BY)
    external_accounts.connect(ben, Subject("Other", "https://other.example.org", "3"), by=BY)
    assert whole()
    external_accounts.disconnect(ben, ExternalSignIn.objects.get(issuer=ISSUER, subject="3").pk, by=BY)
    accounts.bind(ana, ensure("user", "ann"), by=BY, authority=AUTHORITY)
    erasure.erase(ensure("user", "eve"), by=BY, authority=AUTHORITY)
    assert whole() and ExternalSignIn.objects.count() == 2
    signs_in("eva", "2")
    assert whole()


TAKEN = {
    "another's account": "UPDATE accounts_externalsignin SET account_id = {eve} WHERE subject = '1'",
    "another subject": "UPDATE accounts_externalsignin SET subject = '9' WHERE subject = '1'",
    "another issuer": "UPDATE accounts_externalsignin SET issuer = 'https://other' WHERE subject = '1'",
    "one more": "INSERT INTO accounts_externalsignin (account_id, provider, issuer, subject, joined)"
    " VALUES ({ana}, 'Keycloak', 'https://other.example.org', '9', now())",
    "one fewer": "DELETE FROM accounts_externalsignin WHERE subject = '1'",
}


TOLD_OF = {
    "another subject": ("externalsignin ", "the way to sign in "),
    "another issuer": ("externalsignin ", "the way to sign in "),
    "one fewer": ("the way to sign in ",),
}
"""Where a row is no longer what the record calls it, both are told: what is there, and what is not."""


@pytest.mark.parametrize("deed", TAKEN)
def test_a_way_to_sign_in_that_was_written_past_the_console_is_told(deed: str) -> None:
    ana, eve = signs_in("ana", "1"), make_account("eve")
    assert whole()
    past_triggers(TAKEN[deed].format(ana=ana.pk, eve=eve.pk))
    assert is_reported(*TOLD_OF.get(deed, ("externalsignin ",)))


SAID_SO = of_system("the directory")


def test_what_the_directory_said_is_whole() -> None:
    entry = directory.keep_person(PersonData("ana", "Ana"), by=DIRECTORY, authority=SAID_SO)
    group = directory.keep_group(
        GroupData("analysts", members=[entry.principal]), by=DIRECTORY, authority=SAID_SO
    )
    assert whole()
    for active in (False, True):
        directory.change_person(
            entry, PersonData("ana", "Ana L.", active=active), by=DIRECTORY, authority=SAID_SO
        )
        entry.refresh_from_db()
        assert whole()
    directory.end_group(group, by=DIRECTORY, authority=SAID_SO)
    directory.end_person(entry, by=DIRECTORY, authority=SAID_SO)
    assert whole() and DirectoryEntry.objects.filter(ended__isnull=True).count() == 0


SAID = {
    "active again": "UPDATE accounts_directoryentry SET is_active = true WHERE id = {ben}",
    "no longer active": "UPDATE accounts_directoryentry SET is_active = false WHERE id = {ana}",
    "ended": "UPDATE accounts_directoryentry SET ended = now() WHERE id = {ana}",
    "kept again": "UPDATE accounts_directoryentry SET ended = NULL WHERE id = {gone}",
    "another's": "UPDATE accounts_directoryentry SET principal_id = {eve} WHERE id = {ana}",
}


@pytest.mark.parametrize("deed", SAID)
def test_what_the_directory_never_said_is_told(deed: str) -> None:
    ana, ben, gone = (
        directory.keep_person(PersonData(name), by=DIRECTORY, authority=SAID_SO)
        for name in ("ana", "ben", "gone")
    )
    directory.change_person(ben, PersonData("ben", active=False), by=DIRECTORY, authority=SAID_SO)
    directory.end_person(gone, by=DIRECTORY, authority=SAID_SO)
    assert whole()
    numbers = {"ana": ana.pk, "ben": ben.pk, "gone": gone.pk, "eve": ensure("user", "eve").pk}
    past_triggers(SAID[deed].format(**numbers))
    row = {"active again": ben, "kept again": gone}.get(deed, ana)
    left = [f"the entry of {ana.principal.pseudonym}:"] if deed == "another's" else []
    assert is_reported(f"directoryentry {row.pk}:", *left)
