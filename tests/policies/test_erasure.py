"""A person is erased: the name is nowhere any more, and the history is whole and says "an erased person"."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.utils import DatabaseError
from django.utils import timezone

from accounts import people, tokens
from accounts.models import Principal, Token, User
from authzsite.console.history import timeline
from authzsite.console.requests import plan_section
from authzsite.downloads import evidence
from catalog.models import Placement
from catalog.nodes import Node
from policies.calculations import asking
from policies.calculations.asking import LargeEffect
from policies.errors import Conflict, Invalid
from policies.models import (
    AccessRecord,
    AccessRequest,
    Backend,
    Counter,
    Event,
    PlannedFile,
    SyncItem,
    SyncRun,
)
from policies.policy_files import document
from policies.policy_files.applying import apply_or_ask
from policies.policy_files.plan import Plan
from policies.record import access_log, history
from policies.record.access_log import AccessLookup
from policies.record.exports import chain, entries, ocsf
from policies.record.exports.evidence import Question
from policies.record.history import Filter
from policies.record.revisions import at_revision
from policies.record.verify import verify
from policies.requests import plan_approvals, rules, visibility
from policies.services import erasure, grants, members
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, acting, an_account, the
from tests.kept import kept

pytestmark = pytest.mark.django_db
OTHER = "xaver.unmistakable.too"
"""A name that nobody bears yet and that begins alike; it stays."""


def make_xaver(shop: Node) -> Principal:
    """Somebody with an unmistakable name who was given much and holds nothing any more."""
    person = an_account("xaver.unmistakable", display_name="Xaver Unmistakable").principal
    assert person is not None
    members.add(shop, person, by=BY, authority=AUTHORITY)
    table = the("table", "shop.sales.orders")
    grants.add(GrantRequest(table, (person,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    access_log.looked_all([AccessLookup(person, "access", table)], via="console")
    tokens.create(person)
    synced(shop)
    planned(shop)
    members.remove(shop, person, by=BY, authority=AUTHORITY)
    return person


xaver = kept(make_xaver, on="shop")


def synced(shop: Node) -> None:
    """A backend was told of the person, who has an own role there."""
    catalog = the("catalog", "shop")
    row = Backend.objects.create(
        realm_id=shop.realm_id, catalog_id=catalog.id, kind="postgresql", place="shop"
    )
    run = SyncRun.objects.create(backend=row, started=timezone.now())
    name, own = "xaver.unmistakable", "person:xaver.unmistakable"
    SyncItem.objects.create(run=run, number=0, step="give", role=own, label=name, what={"rights": []})
    moves = {"joins": ["sales_read", "~xaver.unmistakable"], "leaves": [name]}
    SyncItem.objects.create(run=run, number=1, step="move", person=name, what=moves)


OF_XAVER = """
# Xaver Unmistakable asked for this; xaver.unmistakable.
format: 1
realm: demo
owns: [role:sales_read]
roles:
  sales_read:
    owner: "user:xaver.unmistakable"
    holders: [user:xaver.unmistakable, user:xaver.unmistakable.too]  # for xaver.unmistakable
"""


def planned(shop: Node) -> None:
    """Marek asks for the approval of a file that speaks of the person, and of another with a longer name."""
    rules.set_rule(shop, by=acting("marek"), plan_approval="always")
    file = document.read(OF_XAVER)
    seen = Plan(shop, file)
    assert apply_or_ask(shop, file, seen=seen.digest, by=acting("marek"), reason="merge 17 by marek").waits
    large = LargeEffect(shop, seen.proposed(), timezone.now())
    asking.ask(large, by=people.ensure("user", "marek"))


def everything() -> str:
    """Every text in every table of the site."""
    texts = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT string_agg(t::text, chr(10)) FROM "{table}" t')
            texts.append(f"{table}: {cursor.fetchone()[0]}")
    return "\n".join(texts)


def test_the_name_is_nowhere_any_more(xaver: Principal) -> None:
    assert "unmistakable" in everything().lower()
    erasure.erase(xaver, by=BY, authority=AUTHORITY, reason="asked for")
    left = [line for line in everything().splitlines() if "unmistakable" in re.sub(OTHER, "", line.lower())]
    assert left == []
    assert not User.objects.filter(username__icontains="unmistakable").exists()
    assert not Token.objects.filter(principal=xaver).exists()


def test_a_plan_that_spoke_of_them_says_an_erased_person_and_is_outdated(
    shop: Node, xaver: Principal
) -> None:
    erasure.erase(xaver, by=BY, authority=AUTHORITY)
    row, name = PlannedFile.objects.get(), f"user:erased-{xaver.pseudonym}"
    read = document.read(row.file)
    assert {item.who for item in read.statements if item.who} == {name, f"user:{OTHER}"}
    assert f"{name} owns role sales_read" in str(row.steps) and f"user:{OTHER} holds" in str(row.steps)
    request = AccessRequest.objects.get()
    with pytest.raises(Conflict, match="realm changed since this was planned"):
        plan_approvals.check_approvable(request)
    section = plan_section.section_of(visibility.get(request.pk, people.ensure("user", "marek")))
    assert section is not None and not section.current
    assert section.diff is not None and name in str(section.diff.lines)


def test_the_history_is_whole_and_says_an_erased_person(shop: Node, xaver: Principal) -> None:
    erasure.erase(xaver, by=BY, authority=AUTHORITY)
    assert verify()
    seen = history.sight(people.ensure("user", "marek"), [shop])
    sentences = " ".join(
        row.sentence for row in timeline.rows(history.page(Filter(), seen, limit=200).entries)
    )
    assert "an erased person" in sentences
    assert "granted" in sentences


def test_nothing_that_leaves_the_site_says_the_name(shop: Node, xaver: Principal) -> None:
    """Exports, and evidence of the time when they had access; nor are they found by name."""
    given = Event.objects.filter(kind="grant.added", people__contains=[xaver.pseudonym])
    past = at_revision(given.latest("change").change_id)
    assert past is not None
    erasure.erase(xaver, by=BY, authority=AUTHORITY)
    marek = people.ensure("user", "marek")
    seen = history.sight(marek, [shop])
    assert not history.page(Filter(text="unmistakable"), seen).entries
    assert history.page(Filter(text="orders"), seen).entries
    target = io.BytesIO()
    evidence.write(target, Question(the("table", "shop.sales.orders"), past), name="e.zip")
    with zipfile.ZipFile(target) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert "an erased person" in files["report.html"] and f"erased-{xaver.pseudonym}" in files["access.csv"]
    rows = [*Event.objects.select_related("change"), *AccessRecord.objects.select_related("repeat")]
    rows_ = entries.entry_rows(rows)
    left = {
        **files,
        "entries": json.dumps(rows_),
        "ocsf": json.dumps([ocsf.event(item, "1.9") for item in rows_]),
        "record": "".join(chain.lines(Counter.objects.get().revision)),
        "looks": "".join(chain.looks(AccessRecord.objects.count())),
    }
    assert [name for name, text in left.items() if "unmistakable" in text.lower()] == []
    assert f"erased-{xaver.pseudonym}" in left["entries"]


def test_who_holds_something_is_not_erased(shop: Node) -> None:
    mia = people.ensure("user", "mia")
    with pytest.raises(Conflict, match=r"realms \(1\), groups \(2\)"):
        erasure.erase(mia, by=BY, authority=AUTHORITY)
    assert people.find("user", "mia")


def test_a_new_person_of_the_same_name_inherits_nothing(shop: Node, xaver: Principal) -> None:
    erasure.erase(xaver, by=BY, authority=AUTHORITY)
    again = people.ensure("user", "xaver.unmistakable")
    assert again.pk != xaver.pk
    assert not history.page(Filter(person=again), history.sight(again, [shop])).entries


def test_nobody_is_erased_twice_and_no_group_is(xaver: Principal) -> None:
    erasure.erase(xaver, by=BY, authority=AUTHORITY)
    xaver.refresh_from_db()
    with pytest.raises(Invalid):
        erasure.erase(xaver, by=BY, authority=AUTHORITY)
    with pytest.raises(Invalid):
        erasure.erase(people.ensure("group", "analysts"), by=BY, authority=AUTHORITY)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "sales"},  # of an object that is no role
        {"name": "~x", "origin": "hand"},
        {"closed": None},
    ],
)
def test_redaction_lets_nothing_else_pass(shop: Node, xaver: Principal, change: dict[str, Any]) -> None:
    rows = Placement.objects.filter(name__startswith="~", closed__isnull=False)
    assert rows.exists()
    with pytest.raises((InternalError, IntegrityError, DatabaseError)), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lakewarden.redaction = 'on'")
        rows.update(**change)
