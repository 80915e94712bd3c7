"""Every form's own valid body, sent by every kind of caller: others change nothing and learn nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from difflib import ndiff
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import get_resolver, resolve, reverse
from django.utils import timezone
from psycopg.conninfo import conninfo_to_dict

from accounts import tokens
from accounts.models import User
from accounts.people import ensure, make_account
from policies.models import Backend, BackendFinding, Change, PipelineRun, ReviewRow, SyncItem, SyncRun
from policies.policy_files import document
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm
from policies.requests import substitutes
from policies.services import duties
from policies.sync import worker
from tests.console.conftest import BACKEND
from tests.console.site_pages import ADMIN, mirrored
from tests.factories import AUTHORITY, BY, a_person, acting, admit, owned, rewritten, the
from tests.kept import kept
from tests.realms import forms
from tests.realms.forms import FORMS, Form, changed, state, taken_back
from tests.realms.world import HIDDEN, several_realms
from tests.sync.conftest import Source

CALLERS = {
    "nobody": "",
    "stranger": "zebra_owner",
    "member": "erik",
    "reader": "mia",
    "sibling": "sven",  # owns the schema beside
    "auditor": "dora",
    "owner": "olivia",
    "owner above": "marek",
    "owner of a Herd": "hank",
    "owner of a CDAP": "cora",
    "disabled": "disabled",
    "disabled by token": "user:disabled",
    "service": "service:nightly-load",
    "admin": ADMIN,
}
OUTSIDE = {"nobody", "disabled", "disabled by token", "service"}
"""They have no session."""
QUICK = ("Grant", "Revoke", "Role, give", "Group, put in", "Request, decide", "CDAP, give", "Account")


def make_site() -> dict[str, Any]:
    """The realms with somebody who owns the schema beside, and a deputy."""
    numbers: dict[str, Any] = several_realms()
    a_person("tomas")
    for name in ("sven", "hank", "cora"):
        make_account(name)
    admit(the("metalake"), "sven")
    owned(the("schema", "shop.stock"), "sven")
    duties.give(the("catalog", "shop"), "break_glass", a_person("sven"), by=BY, authority=AUTHORITY)
    begin = timezone.now()
    deputy = substitutes.name(
        a_person("olivia"), a_person("marek"), begin, begin + timedelta(days=9), by=acting("olivia")
    )
    refunds = [numbers["refunds"]]
    root, holders = the("metalake"), "    holders:\n      - group:analysts\n"
    exported = document.write(root, of_realm(root))
    assert holders in exported
    emptied = exported.replace(holders, "", 1)
    granted = Change.objects.filter(events__kind="grant.added", events__lineage__contains=refunds)
    return {
        **numbers,
        "substitute": deputy.pk,
        "policy_file": emptied,
        "policy_plan": Plan(root, document.read(emptied)).digest,
        "refunds_grant": granted.latest("revision").revision,
        "row_id": ReviewRow.objects.get(review=numbers["review"], number=numbers["row"]).pk,
        "next_month": (begin + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M"),
    }


site = kept(make_site)


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def entered(name: str) -> Client:
    kind, _, who = name.rpartition(":")
    if kind:
        return Client(headers={"Authorization": f"Bearer {tokens.create(ensure(kind, who))}"})
    client = Client()
    if name:
        client.force_login(User.objects.get(username=name), backend=BACKEND)
    return client


def sent(client: Client, address: str, body: Any) -> tuple[Any, list[str]]:
    """The last answer, and the tables that it changed; then it is as before."""
    before = state()
    with taken_back():
        answer = client.post(address, body, follow=True)
        return answer, changed(before, state())


@contextmanager
def prepared(form: Form, site: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The numbers, once that is done after which a form comes; afterwards it is as before."""
    if form.after is None:
        yield site
        return
    with taken_back():
        first, by = form.after, entered(form.after.who)
        by.post(first.goes_to(site), first.body(by, site), follow=True)
        yield {**site, "new_run": PipelineRun.objects.latest("pk").pk}


def text(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


@pytest.mark.parametrize(
    "form",
    [form if form.room in QUICK else pytest.param(form, marks=pytest.mark.slow) for form in FORMS],
    ids=str,
)
def test_only_who_may_saves_it(form: Form, site: dict[str, Any]) -> None:
    with prepared(form, site) as numbers:
        saves_alone(form, numbers)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_only_who_may_saves_it_where_a_database_is_behind(site: dict[str, Any], source: Source) -> None:
    numbers = {**site, **out_there(source)}
    wrong = {}
    for form in (*forms.FORMS_OUT_THERE, forms.FORM_OF_WHAT_WAITS):
        if form is forms.FORM_OF_WHAT_WAITS:
            rewritten(Backend.objects.all(), awaits=Backend.Awaits.NEW)
        try:
            saves_alone(form, numbers)
        except AssertionError as problem:
            wrong[str(form), form.goes_to(numbers)] = str(problem)[:600]
    assert not wrong, wrong


def out_there(source: Source) -> dict[str, Any]:
    """A catalog of which something is gone, Mia owns something there, and a right and a step failed."""
    source.run("ALTER TABLE sales.customers OWNER TO mia")
    numbers: dict[str, Any] = mirrored(the("metalake"), source)
    items = the("table", "lake.stock.items")
    source.run("DROP TABLE stock.items")
    worker.look(Backend.objects.get(pk=numbers["backend"]))
    now, run = timezone.now(), SyncRun.objects.get(pk=numbers["sync_run"])
    stuck = BackendFinding.objects.create(
        backend=run.backend, kind="missing", what="SELECT", first_seen=now, last_seen=now, attempts=9
    )
    failed = SyncItem.objects.create(run=run, number=900, step="give", state="failed", error="too big")
    password = str(conninfo_to_dict(source.url())["password"])
    more = {"lake_items": items.id, "stuck": stuck.pk, "failed": failed.pk, "password": password}
    return {**numbers, **more}


def saves_alone(form: Form, site: dict[str, Any]) -> None:
    right, address = entered(form.who), form.goes_to(site)
    body = form.body(right, site)
    answer, saved = sent(right, address, body)
    assert saved, text(answer)
    may = {caller for caller, name in CALLERS.items() if name == form.who} | set(form.others)
    may, must = (set(CALLERS) - OUTSIDE, set()) if "anybody" in may else (may, may)
    answers = {
        caller: sent(entered(name), address, body) for caller, name in CALLERS.items() if caller not in may
    }
    assert {caller: tables for caller, (_, tables) in answers.items() if tables} == {}
    assert {caller for caller, (answer, _) in answers.items() if answer.status_code >= 500} == set()
    assert not [caller for caller in must if not sent(entered(CALLERS[caller]), address, body)[1]]


ELSEWHERE = {
    "root": "root",
    "sales": "schema",
    "orders": "table",
    "refunds": "table",
    "role": "role",
    "payers": "role",
    "ana": "clerk",
    "mia": "clerk",
    "analysts": "team",
    "service": "service",
}
"""What stands in the second metalake where the first has this."""


def there(body: dict[str, list[str]], site: dict[str, Any], hidden: dict[str, Any]) -> dict[str, list[str]]:
    """The same with the numbers of what lies in the second metalake."""
    numbers = {str(site[name]): str(hidden[name]) for name in ELSEWHERE}
    fields = {"on", "role", "realm", "one_role", "other_role"}
    return {
        field: [numbers.get(value, value) if field in fields else value for value in values]
        for field, values in body.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["olivia", "marek", "dora", "erik", "hank"])
def test_what_is_hidden_is_not_changed_and_not_named(caller: str, site: dict[str, Any]) -> None:
    hidden = {**site, **{name: site[f"{HIDDEN}_{there}"] for name, there in ELSEWHERE.items()}}
    client, wrong = entered(caller), {}
    for form in FORMS:
        if form.after is not None or form.goes_to(hidden) == form.goes_to(site):
            continue
        body = there(form.body(entered(form.who), site), site, hidden)
        answer, tables = sent(client, form.goes_to(hidden), body)
        if tables or HIDDEN in text(answer).lower() or answer.status_code >= 500:
            wrong[str(form)] = answer.status_code, tables
    assert wrong == {}


NAMED = {"who", "find", "name", "owner", "what", "one_what", "add"}
"""Fields in which somebody or something is named."""


def naming(body: dict[str, list[str]], word: str) -> dict[str, list[str]]:
    """The same with names of the second metalake, or with names of nothing."""
    names = {
        "what": f"{word}_lake/{word}_catalog.{word}_schema.{word}_table",
        "one_what": f"{word}_lake/{word}_catalog",
        "who": f"user:{word}_clerk",
    }
    return {
        field: [names.get(field, f"{word}_clerk")] if field in NAMED else values
        for field, values in body.items()
    }


def seen(answer: Any, word: str) -> tuple[int, str]:
    apart = (
        r'name="(csrfmiddlewaretoken|nonce|seen|next|kept|sealed)" value="[^"]*"|[Rr]evision \d+|\d\d:\d\d'
    )
    apart += r'|\d+ (s|min) ago|class="face[^>]*>[^<]*<|(?<=[/="-])\d+'
    return answer.status_code, re.sub(apart, "", text(answer)).replace(word, "NAME")


OPEN_TO_ALL = ("CDAP, give",)
"""Something can be given to everybody there is, and who may give finds them."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        form
        for form in FORMS
        if form.after is None
        and form.who != ADMIN
        and form.others != ("anybody",)
        and form.room not in OPEN_TO_ALL
    ],
    ids=str,
)
def test_naming_what_is_hidden_reads_like_naming_nothing(form: Form, site: dict[str, Any]) -> None:
    right = entered(form.who)
    body = form.body(right, site)
    if not NAMED & set(body):
        return
    address = form.goes_to(site)
    hidden, absent = (seen(sent(right, address, naming(body, word))[0], word) for word in ("zebra", "quagg"))
    assert hidden[0] == absent[0]
    lines = ndiff(absent[1].splitlines(), hidden[1].splitlines())
    lines_ = [line.strip()[:300] for line in lines if line[0] in "+-"]
    assert not lines_, "\n".join(lines_)


WHO = ("{}_clerk", "user:{}_owner", "{}_owner", "service:{}_service", "group:{}_team")
LOGS = (("", "person"), ("", "actor"), (".csv", "person"), ("/looks", "actor"), ("/looks.csv", "actor"))
ASKING = (
    "/why?who=ana&what={0}_lake/{0}_catalog.{0}_schema.{0}_table&action=read&type=table",
    "/history?object={0}_lake/{0}_catalog",
    "/roles/compare?a={}_role&b=browse",
    "/roles/compare?a=user:{}_clerk&b=browse",
    "/people?q={}",
    "/search?q={}",
    "/search/found?q={}",
    "/people/{{ana}}/then?at=2026-01-01&of={}_clerk",
    "/people/{{mia}}/same?as=user:{}_clerk",
    "/people/{{olivia}}/leaving?who=user:{}_clerk",
    "/realms/{{root}}/members/remove?who=user:{}_clerk",
    "/objects/{{orders}}/revoke?who=user:{}_clerk",
    "/objects/{{orders}}/grant?who=user:{}_clerk",
    "/objects/{{sales}}/duties/take?who=user:{}_clerk&duty=view_history",
    "/separation/{{rule}}/let/end?who=user:{}_clerk",
    "/reviews/{{review}}/pass?of=user:{}_clerk",
    "/herds/{{herd}}/roles/take?role=DATA_OWNER&who=user:{}_clerk",
    "/requests/new?resource={0}_lake/{0}_catalog.{0}_schema.{0}_table&type=table&action=read",
    "/requests/new?for=user:{}_clerk&resource=demo/shop.sales.orders&type=table&action=read",
    *(f"/why?who={who}&what=shop.sales.orders&action=read&type=table" for who in WHO),
    *(f"/history{log}?{field}={who}" for log, field in LOGS for who in WHO),
    *(f"/history/archive?realm=demo&person={who}" for who in WHO),
    *(f"/owners{page}?of={who}" for page in ("", ".csv", "/hand-over") for who in WHO),
    "/history?realm={}_lake",
    "/history/archive?realm={}_lake",
    "/owners?q={}",
    "/roles?q={}",
    "/groups?q={}",
    "/catalog?q={}",
    "/hints?q={}",
    "/requests?q={}",
    "/sync?q={}",
    "/people/{{ana}}/sees?in={}",
    "/people/{{ana}}/sees?q={}",
    "/objects/{{orders}}?q={}",
    "/objects/{{orders}}?group={}_team",
    "/roles/{{role}}/give?q={}",
    "/roles/{{role}}/unassign?who=user:{}_clerk",
    "/roles/{{role}}/assign?who=user:{}_clerk",
    "/groups/{{analysts}}/leave?who=user:{}_clerk",
    "/groups/{{analysts}}/join?who=user:{}_clerk",
    "/objects/{{orders}}/owner?who=user:{}_clerk",
    "/objects/{{sales}}/duties/give?who=user:{}_clerk&duty=view_history",
    "/objects/many?on={{orders}}&on={{refunds}}&who=user:{}_clerk",
    "/objects/many?on={{orders}}&on={{refunds}}&do=revoke&who=user:{}_clerk",
    "/separation/{{rule}}/let?who=user:{}_clerk",
    "/herds/{{herd}}/users?id={}_clerk",
    "/herds/{{herd}}/roles/take?role=DATA_OWNER&who=user:{}_owner",
    "/instances/{{cdap}}/revoke?text=dataset:ns1.o*&who=user:{}_clerk",
    "/instances/{{cdap}}/revoke?text=dataset:ns1.o*&who=role:{}_role",
    "/instances/{{cdap}}?q={}",
    "/services/{{service}}/keeper?who=user:{}_clerk",
)


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["olivia", "marek", "dora", "erik", "hedda"])
def test_asking_by_a_hidden_name_reads_like_asking_by_none(caller: str, site: dict[str, Any]) -> None:
    client, texts = entered(caller), {}
    for address in ASKING:
        hidden, absent = (
            seen(client.get(address.format(word).format(**site), follow=True), word)
            for word in ("zebra", "quagg")
        )
        if hidden != absent:
            lines = ndiff(absent[1].splitlines(), hidden[1].splitlines())
            texts[address] = [line.strip()[:200] for line in lines if line[0] in "+-"][:6]
    assert not texts, texts


def test_every_address_that_takes_a_form_has_a_row(rf: RequestFactory, site: dict[str, Any]) -> None:
    numbers = {**dict.fromkeys(forms.OUT_THERE, 1), **site, "new_run": site["run"]}
    every = (*FORMS, *forms.FORMS_OUT_THERE, forms.FORM_OF_WHAT_WAITS)
    rooms = {resolve(form.goes_to(numbers).partition("?")[0]).url_name for form in every}
    apart = forms.SAVE_NOTHING | forms.OF_ONES_OWN
    console = get_resolver().namespace_dict["console"][1]
    names = {name for name in console.reverse_dict if isinstance(name, str)}
    assert {name for name in names if takes_a_form(name)} == rooms | apart


def takes_a_form(name: str) -> bool:
    console = get_resolver().namespace_dict["console"][1]
    fields = console.reverse_dict[name][0][0][1]  # type: ignore[index]
    path = reverse(
        f"console:{name}",
        kwargs={field: "x" if field in ("deed", "code", "who", "token", "nonce") else 1 for field in fields},
    )
    return Client().post(path).status_code != 405
