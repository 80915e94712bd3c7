"""A state belongs to the very right it is about: every page against the database's own catalog.

One PostgreSQL in which the console's account is no superuser: it owns schema sales, Tomas owns a table of it
and gave Mia a right.  What the account cannot do is stuck, and says nothing of anything else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from authzsite.console.reviews.rows import effect
from lakewarden.backends.base import Right, Step
from policies.errors import Invalid
from policies.models import Backend, BackendFinding, ForeignOrder, Notice, OutboxEntry, ReviewRow, SyncRun
from policies.models.sync import STUCK_AFTER
from policies.reviews.consequences import Consequence
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.actions import foreign_rights, operations
from policies.sync.differences import items
from tests.factories import a_metalake, a_person, a_role, acting, admit, owned, rewritten, the
from tests.sync.conftest import Source, discover_now

Enter = Callable[[str], Client]
TABLES = ("orders", "customers", "ledger")
PEOPLE = ("ana", "mia", "carl")


@pytest.fixture
def shop(db: None, source: Source) -> Iterator[Backend]:
    source.run(
        "CREATE ROLE keeper LOGIN PASSWORD 'secret' CREATEROLE; CREATE ROLE tomas LOGIN PASSWORD 'secret';"
        "ALTER DATABASE governed OWNER TO keeper; ALTER SCHEMA sales OWNER TO keeper;"
        "ALTER SCHEMA stock OWNER TO keeper; ALTER TABLE sales.orders OWNER TO keeper;"
        "ALTER TABLE sales.customers OWNER TO keeper; ALTER VIEW sales.top OWNER TO keeper;"
        "ALTER TABLE stock.items OWNER TO keeper; CREATE TABLE sales.ledger (id int);"
        "ALTER TABLE sales.ledger OWNER TO tomas; GRANT USAGE ON SCHEMA sales TO tomas;"
        "GRANT tomas TO keeper; GRANT SELECT ON sales.orders TO tomas WITH GRANT OPTION"
    )
    source.run("GRANT SELECT ON sales.orders TO mia", as_="tomas")
    root = a_metalake()
    for name in ("olivia", *PEOPLE):
        a_person(name, "staff")
    admit(root, "olivia", *PEOPLE, "group:staff")
    from policies.sync.connections import registration
    from tests.factories import AUTHORITY, BY

    url = source.url("keeper")
    row = registration.connect(root, "shop", "postgresql", url, policy="repair", by=BY, authority=AUTHORITY)
    discover_now(row)
    owned(the("schema", "shop.sales"), "olivia")
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", held_by=("group:staff",))
    rewritten(Backend.objects.all(), share=100)
    worker.deliver(row)
    assert Backend.objects.get().state == "in_sync"
    yield row


def barred(source: Source) -> None:
    """The account may no longer act as Tomas, and finds that out."""
    source.run("REVOKE tomas FROM keeper")


def delivered(times: int = 1) -> None:
    for _ in range(times):
        OutboxEntry.objects.update(due=timezone.now())
        worker.deliver(Backend.objects.get())


def give(name: str, table: str) -> int:
    wish = GrantRequest(
        the("table", f"shop.sales.{table}"), (people.ensure("user", name),), ("SELECT_TABLE",)
    )
    grants.add(wish, by=acting("olivia"))
    return grants.revision_now()


def take(name: str, table: str) -> int:
    node, who = the("table", f"shop.sales.{table}"), people.ensure("user", name)
    grants.remove(node, (who,), ("SELECT_TABLE",), by=acting("olivia"))
    return grants.revision_now()


def given_out_there(source: Source, name: str, table: str) -> bool:
    """Whether roles of ours give it: what the database's own catalog says of them."""
    [(can_read,)] = source.run(
        f"SELECT coalesce(bool_or(has_table_privilege(r.oid, 'sales.{table}', 'SELECT')), false)"
        " FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        f" WHERE m.member = '{name}'::regrole AND r.rolname LIKE 'lw%'"
    )
    return bool(can_read)


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def rows_of(html: str) -> list[str]:
    return [plain(row) for row in re.findall(r"<tr[ >].*?</tr>", html, re.DOTALL)]


def on_the_object(client: Client, name: str, table: str) -> str:
    html = client.get(f"/objects/{the('table', f'shop.sales.{table}').id}?how=direct").content.decode()
    label = people.ensure("user", name).label
    return next((row for row in rows_of(html) if label in row and "Granted outside" not in row), "")


def on_the_person(client: Client, name: str, table: str) -> str:
    html = client.get(f"/people/{people.ensure('user', name).pk}").content.decode()
    return next((row for row in rows_of(html) if re.search(rf"\b{table}\b", row)), "")


def in_history(client: Client, revision: int) -> str:
    html = client.get(f"/history?revision={revision}").content.decode()
    rows = [row for row in rows_of(html) if "SELECT" in row or "ead" in row]
    return rows[0] if rows else ""


def told(text: str) -> str:
    if "Refused by" in text:
        return "refused"
    if "On its way" in text or "Not applied" in text:
        return "coming"
    return "applied" if "Applied" in text else "nothing"


def test_one_stuck_adoption_says_nothing_of_any_other_right(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    olivia = signed_in("olivia")
    finding = BackendFinding.objects.get(kind="foreign", holder="mia", what="SELECT")
    foreign_rights.adopt(finding.pk, by=acting("olivia"))
    adopted = grants.revision_now()
    barred(source)
    delivered(STUCK_AFTER)
    order = ForeignOrder.objects.get()
    assert (order.is_stuck, order.done) == (True, None)
    # our own role gives it by now, which is what was decided of Mia's right
    assert given_out_there(source, "mia", "orders")
    assert told(on_the_object(olivia, "mia", "orders")) == "applied"
    # and everything decided later is what it is
    given = give("ana", "customers")
    assert told(on_the_object(olivia, "ana", "customers")) == "coming"
    assert told(in_history(olivia, given)) == "coming"
    delivered()
    taken = take("ana", "customers")
    delivered()
    assert not given_out_there(source, "ana", "customers")
    assert told(in_history(olivia, given)) == "applied"
    assert told(in_history(olivia, taken)) == "applied"
    assert "Refused by PostgreSQL" in plain(olivia.get(f"/history?revision={adopted}").content.decode())
    row = Backend.objects.get()
    assert row.proved_revision >= taken
    # a page of something else says that it is in sync, and Sync names the guilty one with its ways out
    assert "Catching up" not in plain(olivia.get(f"/objects/{table('customers')}").content.decode())
    assert "In sync" in plain(olivia.get(f"/objects/{table('customers')}").content.decode())
    board = olivia.get("/sync").content.decode()
    assert "may not act as tomas" in plain(board)
    for way in ("retry", "drop"):
        assert f"/sync/findings/{finding.pk}/{way}" in board
    assert "permission denied" not in board  # that is for who runs the sync
    marek = signed_in("marek").get(f"/sync/{row.pk}").content.decode()
    assert "permission denied to set role" in plain(marek)
    assert "Try all again" in marek


def table(name: str) -> int:
    return the("table", f"shop.sales.{name}").id


def test_a_stuck_adoption_can_be_left_as_it_was_and_decided_again(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    finding = BackendFinding.objects.get(kind="foreign", holder="mia", what="SELECT").pk
    olivia = signed_in("olivia")
    shown = plain(olivia.get(f"/sync/findings/{finding}/adopt").content.decode())
    assert "is also granted use schema on sales" in shown
    foreign_rights.adopt(finding, by=acting("olivia"))
    barred(source)
    delivered(STUCK_AFTER)
    shown = plain(olivia.get(f"/sync/findings/{finding}/drop").content.decode())
    assert "is no longer granted use schema on sales here" in shown
    assert olivia.post(f"/sync/findings/{finding}/drop", {"reason": "not now"}).status_code == 302
    delivered()
    assert Backend.objects.get().state == "in_sync"
    assert not given_out_there(source, "mia", "orders")
    assert source.run("SELECT has_table_privilege('mia', 'sales.orders', 'SELECT')") == [(True,)]
    # it waits for a decision again, and what would be refused is locked with its reason
    board = olivia.get("/sync").content.decode()
    assert "may not act as tomas, who granted this, so it cannot revoke it." in plain(board)
    assert f"/sync/findings/{finding}/accept" in board
    assert f"/sync/findings/{finding}/adopt" not in board
    refused = olivia.post(f"/sync/findings/{finding}/revoke", {"reason": "x"})
    assert refused.status_code == 422
    source.run("GRANT tomas TO keeper")
    worker.look(Backend.objects.get())
    assert f"/sync/findings/{finding}/adopt" in olivia.get("/sync").content.decode()
    foreign_rights.adopt(finding, by=acting("olivia"))
    delivered()
    assert ForeignOrder.objects.filter(done__isnull=True).count() == 0
    assert given_out_there(source, "mia", "orders")


def test_what_was_passed_on_by_someone_whom_we_cannot_act_for_is_not_offered(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    rights = BackendFinding.objects.filter(kind="foreign", holder="tomas", place="sales.orders")
    assert rights.exists() and not any(right.hindered for right in rights)
    barred(source)
    worker.look(Backend.objects.get())
    olivia = signed_in("olivia")
    board = olivia.get("/sync").content.decode()
    assert "tomas has passed this on to mia, and the account that Lakewarden uses" in plain(board)
    for right in rights:
        assert f"/sync/findings/{right.pk}/adopt" not in board
        with pytest.raises(Invalid):
            foreign_rights.revoke(right.pk, by=acting("olivia"))
    source.run("GRANT tomas TO keeper")
    worker.look(Backend.objects.get())
    assert not any(right.hindered for right in rights.all())


def test_a_right_that_cannot_be_given_stands_alone(shop: Backend, source: Source, signed_in: Enter) -> None:
    barred(source)
    olivia, marek = signed_in("olivia"), signed_in("marek")
    first, other = give("ana", "ledger"), give("ana", "orders")
    delivered(STUCK_AFTER)
    assert given_out_there(source, "ana", "orders")
    assert told(on_the_object(olivia, "ana", "ledger")) == "refused"
    assert told(on_the_object(olivia, "ana", "orders")) == "applied"
    assert told(on_the_person(marek, "ana", "ledger")) == "refused"
    assert told(on_the_person(marek, "ana", "orders")) == "applied"
    assert (told(in_history(olivia, first)), told(in_history(olivia, other))) == ("refused", "applied")
    assert not OutboxEntry.objects.filter(attempts__gt=0).exists()
    stuck = BackendFinding.objects.get(kind="missing")
    page = plain(marek.get(f"/sync/findings/{stuck.pk}/stuck").content.decode())
    assert "tomas" in page
    assert plain(olivia.get("/sync").content.decode()).count("Stuck") == 1
    source.run("GRANT tomas TO keeper")
    assert marek.post(f"/sync/findings/{stuck.pk}/stuck").status_code == 302
    delivered()
    assert given_out_there(source, "ana", "ledger")
    assert told(on_the_object(olivia, "ana", "ledger")) == "applied"
    assert "Try all again" not in marek.get(f"/sync/{shop.pk}").content.decode()


def stick(source: Source) -> None:
    """Ana's right on the ledger is stuck: the account may not give it."""
    barred(source)
    give("ana", "ledger")
    delivered(STUCK_AFTER)


def ways_out(client: Client, finding: int) -> str:
    return client.get(f"/sync/findings/{finding}/stuck").content.decode()


def test_what_is_stuck_names_itself_its_cause_and_three_ways_out(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    stick(source)
    stuck, marek = BackendFinding.objects.get(kind="missing").pk, signed_in("marek")
    page = ways_out(marek, stuck)
    assert "ana may read sales.ledger: missing in the backend" in plain(page)
    assert "tomas" in plain(page)
    for way in ("Try again", "Drop the decision", "Leave it as it was"):
        assert re.search(rf"<h3 [^>]*>{way}</h3>", page)
    # who may grant there and does not operate the sync is led into no refusal
    olivia = ways_out(signed_in("olivia"), stuck)
    assert f"/sync/findings/{stuck}/leave" not in olivia
    assert signed_in("olivia").get(f"/sync/findings/{stuck}/leave").status_code == 403
    assert "/revoke?who=user" in olivia


def test_what_is_tried_again_is_followed_until_it_has_settled(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    stick(source)
    stuck, marek = BackendFinding.objects.get(kind="missing").pk, signed_in("marek")
    assert FOLLOWS not in marek.get(f"/sync/{shop.pk}").content.decode()  # nothing is on its way there
    source.run("GRANT tomas TO keeper")
    [again] = re.findall(r'name="nonce"\s+value="([^"]*)"', ways_out(marek, stuck))
    page = marek.post(f"/sync/findings/{stuck}/stuck", {"nonce": again}, follow=True).content.decode()
    [address] = re.findall(rf'{FOLLOWS}="([^"]*)"', page)
    assert "Catching up" in plain(page)
    assert "HX-Trigger" not in marek.get(address).headers
    delivered()
    settled = marek.get(address)
    assert settled.headers["HX-Trigger"] == "settled"  # the lists of the page are read again
    assert FOLLOWS not in settled.content.decode()
    assert "In sync" in plain(settled.content.decode())
    assert told(on_the_object(signed_in("olivia"), "ana", "ledger")) == "applied"


FOLLOWS = '<div id="standing" hx-get'
"""The part of a backend's page that is asked for again and again."""


def test_dropping_what_is_stuck_leaves_nothing_that_differs(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    stick(source)
    stuck, olivia = BackendFinding.objects.get(kind="missing").pk, signed_in("olivia")
    [address] = re.findall(r'href="(/objects/\d+/revoke[^"]*)"', ways_out(olivia, stuck))
    assert olivia.post(unescape(address), {"reason": "not needed"}).status_code == 302
    delivered()
    assert not BackendFinding.objects.filter(kind="missing").exists()
    assert Backend.objects.get().state == "in_sync"
    assert not given_out_there(source, "ana", "ledger")


def test_what_is_left_as_it_was_is_not_tried_until_its_date(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    stick(source)
    people.make_account("marek")
    stuck, marek = BackendFinding.objects.get(kind="missing"), signed_in("marek")
    address = f"/sync/findings/{stuck.pk}/leave"
    assert marek.post(address, {"until": timezone.localdate().isoformat()}).status_code == 422  # no reason
    values = {"until": timezone.localdate().isoformat(), "reason": "Tomas is away"}
    assert marek.post(address, values).status_code == 302
    source.run("GRANT tomas TO keeper")
    delivered(2)
    operations.retry(shop, by=acting("marek"))  # all again, but for what is left
    other = give("ana", "orders")
    delivered()
    assert not given_out_there(source, "ana", "ledger")
    assert told(in_history(marek, other)) == "applied"
    assert "Left as it is" in on_the_object(signed_in("olivia"), "ana", "ledger")
    board = plain(marek.get(f"/sync/{shop.pk}").content.decode())
    assert "Left as it is 1 right" in board
    assert "Needs attention" not in board
    assert not Notice.objects.filter(kind="sync.parked", done__isnull=True).exists()
    assert "Tomas is away" in plain(ways_out(marek, stuck.pk))
    # after its date it is tried again by itself
    BackendFinding.objects.update(accepted_until=timezone.now())
    BackendFinding.objects.update(tried_at=timezone.now() - items.TRIED_AGAIN)
    worker.now(Backend.objects.get())
    assert given_out_there(source, "ana", "ledger")
    assert Backend.objects.get().state == "in_sync"


def test_leaving_what_was_taken_away_says_who_keeps_it_before_it_is_saved(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    stick(source)
    BackendFinding.objects.filter(kind="missing").update(kind="extra")
    people.make_account("marek")
    stuck, marek = BackendFinding.objects.get(kind="extra").pk, signed_in("marek")
    assert "stays in PostgreSQL, and jobs there go on using it" in plain(ways_out(marek, stuck))
    form = plain(marek.get(f"/sync/findings/{stuck}/leave").content.decode())
    assert "stays in PostgreSQL, though it was revoked here" in form
    assert "Its holders there can use it until the date." in form


def test_trying_again_what_is_left_ends_that(shop: Backend, source: Source, signed_in: Enter) -> None:
    stick(source)
    stuck = BackendFinding.objects.get(kind="missing")
    operations.leave(stuck.pk, timezone.now() + timedelta(days=9), by=acting("marek"), reason="later")
    source.run("GRANT tomas TO keeper")
    assert signed_in("marek").post(f"/sync/findings/{stuck.pk}/stuck").status_code == 302
    delivered()
    assert given_out_there(source, "ana", "ledger")


def test_not_even_a_removal_that_is_left_is_tried() -> None:
    left = BackendFinding(
        kind="extra", place="sales.ledger", holder="role:1", what="SELECT", attempts=3, error_kind="rejected"
    )
    step = Step("take", role="role:1", rights=(Right("table", ("sales", "ledger"), "SELECT"),), revokes=True)
    before = items.Known({items.key_of(left): left}, {}, timezone.now())
    assert items.parted([step], before)[0] == [step]
    left.accepted_until = timezone.now() + timedelta(days=1)
    go, kept = items.parted([step], before)
    assert (go, [outcome.step for outcome in kept]) == ([], [step])


def test_a_stuck_adoption_can_be_accepted_as_it_was_at_once(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    finding = BackendFinding.objects.get(kind="foreign", holder="mia", what="SELECT").pk
    foreign_rights.adopt(finding, by=acting("olivia"))
    barred(source)
    delivered(STUCK_AFTER)
    olivia = signed_in("olivia")
    page = ways_out(olivia, finding)
    assert "Adopting SELECT of mia on sales.orders" in plain(page)
    for code in ("retry", "drop", "accept"):
        assert f"/sync/findings/{finding}/{code}" in page
    values = {"until": timezone.localdate().isoformat(), "reason": "Tomas is away"}
    assert olivia.post(f"/sync/findings/{finding}/accept", values).status_code == 302
    delivered()
    assert ForeignOrder.objects.get().dropped
    assert BackendFinding.objects.get(pk=finding).is_left
    assert Backend.objects.get().state == "in_sync"
    assert not given_out_there(source, "mia", "orders")
    assert source.run("SELECT has_table_privilege('mia', 'sales.orders', 'SELECT')") == [(True,)]


def test_who_answers_is_told_of_what_is_stuck_and_no_longer_when_it_is_dropped(
    shop: Backend, source: Source
) -> None:
    people.make_account("marek")
    stick(source)
    notices = Notice.objects.filter(kind="sync.parked")
    assert notices.filter(done__isnull=True).exists()
    take("ana", "ledger")
    delivered()
    assert not notices.filter(done__isnull=True).exists()
    assert Backend.objects.get().state == "in_sync"


def test_a_plain_member_learns_nothing_of_others(shop: Backend, source: Source, signed_in: Enter) -> None:
    stick(source)
    carl = signed_in("carl")
    for address in ("/", "/sync", f"/sync/{shop.pk}", f"/objects/{the('catalog', 'shop').id}"):
        shown = carl.get(address).content.decode()
        assert "tomas" not in shown, address
        assert not re.search(r"\d+</b> (in sync|missing|foreign)", shown), address
        assert "stuck" not in plain(shown), address
    # their own they are told of
    shown = plain(signed_in("ana").get(f"/objects/{table('ledger')}").content.decode())
    assert "Needs attention" in shown


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_whatever_is_mixed_each_right_says_what_is_true_of_it(
    shop: Backend, source: Source, signed_in: Enter, seed: int
) -> None:
    rng = random.Random(seed)
    barred(source)
    have: set[tuple[str, str]] = set()
    decided: dict[int, tuple[str, str, bool]] = {}
    for _ in range(4):
        for _ in range(rng.randint(1, 3)):
            person = rng.choice(PEOPLE), rng.choice(TABLES)
            if person in have:
                decided[take(*person)] = (*person, False)
                have.discard(person)
            else:
                decided[give(*person)] = (*person, True)
                have.add(person)
        if rng.random() < 0.5:
            name = rng.choice(PEOPLE)
            source.run(f"GRANT SELECT ON sales.{rng.choice(TABLES)} TO {name}")
        if rng.random() < 0.7:
            delivered(STUCK_AFTER)
        _compare(source, signed_in, have, decided)
    operations.retry(Backend.objects.get(), by=acting("marek"))
    source.run("GRANT tomas TO keeper")
    delivered()
    _compare(source, signed_in, have, decided)
    assert SyncRun.objects.order_by("-pk")[0].state in ("proved", "shown")


def _compare(
    source: Source,
    signed_in: Enter,
    have: set[tuple[str, str]],
    decided: dict[int, tuple[str, str, bool]],
) -> None:
    olivia, marek = signed_in("olivia"), signed_in("marek")
    for name, table_ in have:
        there = given_out_there(source, name, table_)
        for where in (on_the_object(olivia, name, table_), on_the_person(marek, name, table_)):
            assert (told(where) == "applied") is there, (name, table_, there, where)
    latest = {(name, table_): (at, gives) for at, (name, table_, gives) in decided.items()}
    for (name, table_), (revision, gives) in latest.items():
        shown = told(in_history(olivia, revision))
        true = given_out_there(source, name, table_) is gives
        assert (shown == "applied") <= true, (name, table_, gives, shown)
        assert shown == "applied" or not true or shown == "coming", (name, table_, gives, shown)


def test_the_lines_of_an_object_are_read_again_when_nothing_is_on_its_way(
    shop: Backend, source: Source, signed_in: Enter
) -> None:
    olivia, state = signed_in("olivia"), f"/objects/{table('customers')}/state?words"
    give("ana", "customers")
    first = olivia.get(state)
    assert "HX-Trigger" not in first.headers
    assert "every 2s" in first.content.decode()
    # asking is bounded, and does not go on for ever where nothing comes
    assert "n=1" in first.content.decode()
    assert "every 2s" not in olivia.get(f"{state}&n=150").content.decode()
    delivered()
    assert olivia.get(state).headers["HX-Trigger"] == "settled"
    assert 'hx-trigger="settled from:body"' in olivia.get(f"/objects/{table('customers')}").content.decode()
    # something stuck elsewhere keeps no page asking
    barred(source)
    give("mia", "ledger")
    delivered(STUCK_AFTER)
    assert "every 2s" not in olivia.get(state).content.decode()


def test_a_review_says_what_removing_a_foreign_grant_takes() -> None:
    outside = {"holder": "legacy_bi", "grantor": "tomas", "backend": 1}
    row = ReviewRow(kind="foreign", type="table", privileges=["SELECT"], what="customers", outside=outside)
    effect_text = effect(row, Consequence(), "remove")
    assert effect_text == (
        "legacy_bi loses read on customers. Granted by tomas. "
        "Access from roles and other grantors there stays."
    )
    assert effect(row, Consequence(gone=True), "remove") == "It ended already. No decision is needed."
