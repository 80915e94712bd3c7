"""What the tables say is what the record says: every way past the console and its triggers is found."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import people
from accounts.models import Principal, Token, User
from accounts.people import django_group
from catalog.nodes import Node
from policies.models import RealmMember
from policies.record.verify import verify
from policies.services import accounts, duties, erasure, grants, members, tokens
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_role, acting, the
from tests.kept import kept
from tests.policies.superuser import past_triggers

pytestmark = pytest.mark.django_db


def of(name: str) -> Principal:
    return people.ensure("user", name)


def make_ended(shop: Node) -> Node:
    """The shop, with a grant that has an end, one that is over, and a role that was taken."""
    table = the("table", "shop.sales.orders")
    until = timezone.now() + timedelta(days=3)
    grants.add(GrantRequest(table, (of("ana"),), ("SELECT_TABLE",), valid_until=until), by=acting("olivia"))
    grants.add(GrantRequest(table, (of("mia"),), ("MODIFY_TABLE",)), by=acting("olivia"))
    grants.remove(table, [of("mia")], ("MODIFY_TABLE",), by=acting("olivia"))
    a_role(shop, "helpers", held_by=("ana",))
    verdict = verify()
    assert verdict, verdict.differing or verdict.broken
    return shop


ended = kept(make_ended, on="shop")
A_GRANT = (
    "INSERT INTO policies_grant"
    " (opened, origin, holder_id, privilege, written, effect, securable_id, pattern)"
    " SELECT 5, 'hand', p.id, 'SELECT_TABLE', '', 'allow', s.id, ''"
    " FROM accounts_principal p, catalog_securable s WHERE p.name = 'carl' AND s.type = 'catalog'"
)
AN_ASSIGNMENT = (
    "INSERT INTO policies_assignment (opened, origin, role_id, holder_id)"
    " SELECT 5, 'hand', a.role_id, p.id FROM policies_assignment a, accounts_principal p"
    " WHERE p.name = 'olivia' ORDER BY a.id LIMIT 1"
)
AS_IF_MEANT = "(SELECT min(id) FROM policies_{} WHERE closed IS NULL)"
DEEDS = {
    "a grant inserted": (A_GRANT, r"grant \d+: the record says nothing of it; the table says .*SELECT_TABLE"),
    "a grant of no revision": (A_GRANT.replace("SELECT 5", "SELECT 0"), "none before its first"),
    "a grant of a revision to come": (A_GRANT.replace("SELECT 5", "SELECT 99999"), "no change beyond"),
    "an assignment inserted": (AN_ASSIGNMENT, r"assignment \d+: the record says nothing of it"),
    "a denial closed": (
        "UPDATE policies_grant SET closed = 9 WHERE effect = 'deny'",
        r"grant \d+: the record says nothing of an end; the table says that it began .*, ended at 9",
    ),
    "a denial deleted": ("DELETE FROM policies_grant WHERE effect = 'deny'", "the table says no such row"),
    "an ended grant opened again": (
        "UPDATE policies_grant SET closed = NULL WHERE privilege = 'MODIFY_TABLE'",
        r"the record says that it ended at revision \d+; the table says that it began at revision \d+$",
    ),
    "a window removed": (
        "UPDATE policies_grant SET valid_until = NULL WHERE valid_until IS NOT NULL",
        r"the record says valid_until 20.*; the table says valid_until none",
    ),
    "an owner replaced": (
        "UPDATE policies_ownership SET owner_id = (SELECT id FROM accounts_principal WHERE name = 'carl')"
        f" WHERE id = {AS_IF_MEANT.format('ownership')}",
        r"ownership \d+: the record says owner_id \d+; the table says owner_id \d+",
    ),
    "authorization off": (
        "UPDATE catalog_mode SET mode = 'off'",
        "the record says mode on; the table says mode off",
    ),
    "an origin changed": (
        f"UPDATE policies_grant SET origin = 'emergency' WHERE id = {AS_IF_MEANT.format('grant')}",
        r"the record says origin \w+; the table says origin emergency",
    ),
    "a privilege changed": (
        "UPDATE policies_grant SET privilege = 'MODIFY_TABLE' WHERE valid_until IS NOT NULL",
        "the record says privilege SELECT_TABLE; the table says privilege MODIFY_TABLE",
    ),
    "a beginning moved": (
        f"UPDATE policies_assignment SET opened = 2 WHERE id = {AS_IF_MEANT.format('assignment')}",
        r"the record says that it began at revision \d+; the table says that it began at revision 2",
    ),
    "a member slipped in": (
        "INSERT INTO policies_realmmember (opened, origin, realm_id, principal_id)"
        " SELECT 3, 'hand', r.id, p.id FROM catalog_realm r, accounts_principal p WHERE p.name = 'analysts'"
        " AND false UNION ALL SELECT 3, 'api', r.id, p.id FROM catalog_realm r, accounts_principal p"
        " WHERE p.name = 'marek'",
        r"realmmember \d+: the record says nothing of it",
    ),
    "somebody put into a group": (
        "INSERT INTO accounts_membership (opened, origin, group_id, member_id)"
        " SELECT 3, 'hand', g.id, m.id FROM accounts_principal g, accounts_principal m"
        " WHERE g.name = 'analysts' AND m.name = 'ana'",
        r"membership \d+: the record says nothing of it",
    ),
    "an object renamed": (
        "UPDATE catalog_placement SET name = 'harmless' WHERE name = 'orders'",
        "the record says name orders; the table says name harmless",
    ),
    "an object moved": (
        "UPDATE catalog_placement SET parent_id = scope_id - 1 WHERE name = 'orders'",
        r"placement \d+: the record says parent_id \d+",
    ),
    "pseudonyms swapped": (
        "CREATE TEMP TABLE held AS SELECT name, pseudonym FROM accounts_principal;"
        "UPDATE accounts_principal SET pseudonym = name WHERE name IN ('ana', 'carl');"
        "UPDATE accounts_principal p SET pseudonym = h.pseudonym FROM held h"
        " WHERE (p.name, h.name) IN (('ana', 'carl'), ('carl', 'ana'))",
        r"principal \d+: the record says \w{16} \(revision \d+\); the table says the pseudonym \w{16}",
    ),
    "somebody's own role given to another": (
        "UPDATE catalog_placement SET name = '~carl' WHERE name = '~ana'",
        "the record says name ~ana; the table says name ~carl",
    ),
}


KEPT = {
    "a duty inserted": (
        "INSERT INTO policies_userduty (content_object_id, permission_id, user_id)"
        " SELECT s.id, q.id, u.id FROM catalog_securable s, auth_permission q, accounts_user u"
        " WHERE s.type = 'metalake' AND q.codename = 'break_glass' AND u.username = 'ana'",
        r"userduty \d+: the record says nothing of it; the table says duty break_glass on object \d+",
    ),
    "a duty deleted": (
        "DELETE FROM policies_userduty",
        r"duty view_history on object \d+: the record says that \w{16} has it since revision \d+",
    ),
    "a duty given to a group": (
        "INSERT INTO policies_groupduty (content_object_id, permission_id, group_id)"
        " SELECT s.id, q.id, g.id FROM catalog_securable s, auth_permission q, auth_group g"
        " WHERE s.type = 'metalake' AND q.codename = 'break_glass' AND g.name = 'staff'",
        r"groupduty \d+: the record says nothing of it",
    ),
    "a password replaced": (
        "UPDATE accounts_user SET password = 'argon2$of-another' WHERE username = 'ana'",
        r"account \d+: the record says the password set at revision \d+; the table says another password",
    ),
    "a password where there is none": (
        "UPDATE accounts_user SET password = 'argon2$of-another' WHERE username = 'mia'",
        r"account \d+: the record says nothing of a password; the table says a password",
    ),
    "an account bound to another": (
        "UPDATE accounts_user SET principal_id = NULL WHERE username = 'ana';"
        "UPDATE accounts_user SET principal_id ="
        " (SELECT id FROM accounts_principal WHERE name = 'ana' AND kind = 'user') WHERE username = 'mia'",
        r"account \d+: the record says nothing that binds it to \w{16}",
    ),
    "a disabled account enabled": (
        "UPDATE accounts_user SET is_active = true WHERE username = 'carl'",
        "the record says that it is disabled; the table says that it is enabled",
    ),
    "a token inserted": (
        "INSERT INTO accounts_token (principal_id, prefix, digest, scopes, created, run, view)"
        " SELECT principal_id, 'lw_mallory', 'x', scopes, created, run, view FROM accounts_token LIMIT 1",
        r"token \d+: the record says nothing of it; the table says that \w{16} holds lw_mallory…",
    ),
    "a token's text replaced": (
        "UPDATE accounts_token SET digest = 'x' || id",
        "the table says another token",
    ),
    "a token widened": (
        "UPDATE accounts_token SET scopes = '{}'",
        r"the record says the scopes \['check'\]; the table says the scopes \[\]",
    ),
    "a token without end": (
        "UPDATE accounts_token SET expires = NULL",
        "the record says an end at 20.*; the table says an end at None",
    ),
    "a token good again": (
        "UPDATE accounts_token SET revoked = NULL WHERE revoked IS NOT NULL",
        "the record says that it was revoked; the table says that it is good",
    ),
    "an object dropped": (
        "UPDATE catalog_securable SET closed = 9 WHERE type = 'view'",
        "the record says that it is there; the table says that it is gone",
    ),
    "an object of another type": (
        "UPDATE catalog_securable SET type = 'topic' WHERE type = 'view'",
        "the record says the type view; the table says the type topic",
    ),
    "an object of another realm": (
        "INSERT INTO catalog_realm (kind, settings, opened) VALUES ('herd', '{}', 3);"
        "UPDATE catalog_securable SET realm_id = (SELECT max(id) FROM catalog_realm) WHERE type = 'view'",
        r"the record says the realm \d+; the table says the realm \d+",
    ),
    "a realm inserted": (
        "INSERT INTO catalog_realm (kind, settings, opened) VALUES ('herd', '{}', 3)",
        r"realm \d+: the record says nothing of it",
    ),
    "a realm's root in another realm": (
        "INSERT INTO catalog_realm (kind, settings, opened) VALUES ('gravitino', '{}', 3);"
        "UPDATE catalog_securable SET realm_id = (SELECT max(id) FROM catalog_realm)",
        r"object \d+: the record says the realm \d+; the table says the realm \d+",
    ),
    "a kind of realm changed": (
        "UPDATE catalog_realm SET kind = 'herd'",
        r"realm \d+: the record says the kind gravitino; the table says the kind herd",
    ),
    "a catalog switched off": (
        "UPDATE catalog_detail d SET content = '{\"in_use\": false}' FROM catalog_securable s"
        " WHERE s.id = d.securable_id AND s.type = 'catalog'",
        r"object \d+: the record says that it is in use; the table says that it is not in use",
    ),
    "rights over the site": (
        "UPDATE accounts_user SET is_superuser = true WHERE username = 'mia'",
        "the record says nothing of rights over the site",
    ),
}


def make_things(ended: Node) -> Node:
    """The shop, with accounts, a duty, and tokens of which one was revoked."""
    for name in ("ana", "mia", "carl"):
        people.make_account(name)
    django_group(people.ensure("group", "staff"))
    accounts.keep_password(User.objects.get(username="ana"), "a-lake-is-deep", by=BY, authority=AUTHORITY)
    accounts.close(User.objects.get(username="carl"), by=BY, authority=AUTHORITY)
    duties.give(ended, "view_history", of("ana"), by=BY, authority=AUTHORITY)
    duties.give(ended, "operate_sync", of("ana"), by=BY, authority=AUTHORITY)
    duties.take(ended, "operate_sync", of("ana"), by=BY, authority=AUTHORITY)
    for _ in range(2):
        tokens.make(of("ana"), days=3, scopes=("check",), by=acting("ana"))
    tokens.revoke(of("ana"), Token.objects.earliest("pk").pk, by=acting("ana"))
    verdict = verify()
    assert verdict, verdict.differing
    return ended


kept_things = kept(make_things, on="ended")


@pytest.mark.parametrize("deed", KEPT)
def test_what_is_no_fact_and_was_done_past_the_console_is_found(kept_things: Node, deed: str) -> None:
    statement, words = KEPT[deed]
    past_triggers(statement)
    verdict = verify()
    assert any(re.search(words, line.split(". ")[0]) for line in verdict.differing), verdict.differing


def test_an_account_that_goes_to_another_person_takes_its_duties_along(kept_things: Node) -> None:
    account = User.objects.get(username="ana")
    accounts.bind(account, people.ensure("user", "ana.b"), by=BY, authority=AUTHORITY)
    verdict = verify()
    assert verdict, verdict.differing
    past_triggers("UPDATE accounts_user SET principal_id = NULL WHERE username = 'ana'")
    assert any("the table says that it is nobody's" in line for line in verify().differing)


def test_an_erased_person_is_no_difference(kept_things: Node) -> None:
    person = people.make_account("xaver").principal
    assert person is not None
    tokens.make(person, days=3, scopes=(), by=acting("xaver"))
    grants.add(
        GrantRequest(the("table", "shop.sales.orders"), (of("ana"),), ("MODIFY_TABLE",)), by=acting("olivia")
    )
    members.add(kept_things, person, by=BY, authority=AUTHORITY)
    grants.add(
        GrantRequest(the("table", "shop.sales.orders"), (person,), ("MODIFY_TABLE",)), by=acting("olivia")
    )
    members.remove(kept_things, person, by=BY, authority=AUTHORITY)
    erasure.erase(person, by=BY, authority=AUTHORITY)
    verdict = verify()
    assert verdict, verdict.differing


@pytest.mark.parametrize("deed", DEEDS)
def test_what_was_done_past_the_console_is_found(
    ended: Node, deed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    statement, words = DEEDS[deed]
    past_triggers(statement)
    verdict = verify()
    assert not verdict and verdict.broken is None
    assert any(re.search(words, line.split(". ")[0]) for line in verdict.differing), verdict.differing
    with pytest.raises(SystemExit) as exited:
        call_command("verify_audit")
    assert exited.value.code == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"differs: {verdict.differences} difference") and verdict.differing[0] in errors
    assert "(superuser)" in errors, "who could have written it"


def test_the_facts_may_be_left_out(ended: Node, capsys: pytest.CaptureFixture[str]) -> None:
    past_triggers(A_GRANT)
    call_command("verify_audit", "--no-facts")
    assert "fact" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call_command("verify_audit", "--facts")


def test_a_row_that_names_a_change_is_told_with_it(ended: Node) -> None:
    past_triggers(A_GRANT)
    [line] = verify().differing
    assert "It names revision 5 (" in line and "which says nothing of it" in line


def test_all_that_differs_is_counted_and_the_first_are_shown(ended: Node) -> None:
    past_triggers(
        "INSERT INTO policies_realmmember (opened, closed, origin, realm_id, principal_id)"
        " SELECT 3, 4, 'hand', r.id, p.id FROM catalog_realm r, accounts_principal p, generate_series(1, 10)"
        " WHERE p.kind = 'user'"
    )
    verdict = verify()
    many = RealmMember.objects.filter(opened=3, closed=4).count()
    assert verdict.differences == 2 * many > 40
    assert len(verdict.differing) == 21 and verdict.differing[-1] == f"… and {2 * many - 20} more"
