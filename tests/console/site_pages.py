"""The shop with something going on in every room: requests, reviews, hints, an emergency, a rule of two.

For whoever looks at rooms as they are when people work in them: pictures, accessibility, disabled controls.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.tokens import default_token_generator
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.people import ensure, make_account
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.analytics.pipelines import control, running
from policies.authority import OPERATOR
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.models import AppliedFile, Backend, Grant
from policies.models.sync import STUCK_AFTER
from policies.reviews import completion, management
from policies.separation.sides import Side
from policies.services import accounts, duties, entities, grants, realms, roles, separation
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.connections import registration
from tests.cdap import world as cdap
from tests.console.conftest import NAMES, PASSWORD
from tests.console.requests.test_browser_requests import some_requests
from tests.factories import (
    AUTHORITY,
    BY,
    a_metalake,
    a_person,
    a_role,
    acting,
    admit,
    an_account,
    owned,
    the,
)
from tests.herd import world as herds
from tests.pipelines.test_hints import a_hint
from tests.policy_files.world import applied
from tests.reviews.world import a_review, decides, rows
from tests.sync.conftest import Source, discover_now

ADMIN = "sam"
"""Who runs the site; tests name them in its settings."""


def furnish(root: Node) -> dict[str, Any]:
    """Something for each room, by what the addresses below call it."""
    orders, sales = the("table", "shop.sales.orders"), the("schema", "shop.sales")
    a_person(ADMIN)
    for name, display in {**NAMES, ADMIN: "Sam Site", "hedda": "Hedda Herder"}.items():
        an_account(name, display_name=display, password=PASSWORD)
    refunds = the("table", "shop.sales.refunds")
    by_form = replace(acting("olivia"), request_id=NONCE)
    grants.add(GrantRequest(refunds, (a_person("ana"),), ("SELECT_TABLE",)), by=by_form)
    given = grants.revision_now()
    payers = a_role(root, "payers", "allow MODIFY_TABLE on table shop.stock.items", held_by=("ana",))
    service = accounts.make_service("nightly-load", a_person("olivia"), by=BY, authority=AUTHORITY)
    admit(root, "service:nightly-load")
    duties.give(sales, "view_history", a_person("ana"), by=BY, authority=AUTHORITY)
    asked = some_requests()
    run = control.ask("effective_access", root, by=acting("marek"))
    running.run(run)
    reads = Grant.objects.open().get(role=the("role", "sales_read").id, privilege="SELECT_TABLE")
    return {
        "root": root.id,
        "sales": sales.id,
        "orders": orders.id,
        "refunds": refunds.id,
        "role": the("role", "sales_read").id,
        "payers": payers.id,
        "given": given,
        "analysts": ensure("group", "analysts").pk,
        "service": service.pk,
        **{name: a_person(name).pk for name in ("ana", "carl", "mia", "olivia")},
        **{f"request_{name}": number for name, number in asked.items()},
        **_reviews(),
        "run": run.pk,
        "hint": a_hint(root, reads).pk,
        "rule": _rule_of_two(root),
        "emergency": _emergency(),
        "account": make_account("carl").pk,
        "closed": a_metalake("closed", owner="gone").id,
        "welcome": _welcome(),
        "policy_scope": _policy_file(root),
        **_herd(),
        **_cdap(),
    }


def mirrored(root: Node, source: Source) -> dict[str, Any]:
    """A catalog lake over a real PostgreSQL, in which somebody has granted something by hand."""
    row = registration.connect(
        root, "lake", "postgresql", source.url(), policy="repair", by=BY, authority=AUTHORITY
    )
    discover_now(row)
    sales = the("schema", "lake.sales")
    owned(sales, "olivia")
    a_role(root, "lake", "allow USE_CATALOG on catalog lake", held_by=("group:staff",))
    a_role(
        root,
        "lake_read",
        "allow USE_SCHEMA on schema lake.sales",
        "allow SELECT_TABLE on schema lake.sales",
        held_by=("group:analysts",),
    )
    worker.deliver(row)
    return {
        "backend": row.pk,
        "sync_run": row.runs.filter(applied__gt=0)[0].pk,
        "foreign": row.findings.filter(kind="foreign", place="sales.orders")[0].pk,
        "stuck": _stuck(row),
        "lake_sales": sales.id,
        "lake_orders": the("table", "lake.sales.orders").id,
    }


def _stuck(row: Backend) -> int:
    """A right that PostgreSQL has refused again and again."""
    now, table = timezone.now(), the("table", "lake.sales.orders")
    error = 'permission denied to set role "keeper"'
    finding = row.findings.create(
        kind="missing",
        what="SELECT",
        type="table",
        path=["sales", "orders"],
        holder="role:0",
        place="sales.orders",
        securable_id=table.id,
        concerns={str(table.id): ["SELECT_TABLE"]},
        people=["mia"],
        first_seen=now,
        last_seen=now,
        tried_at=now,
        attempts=STUCK_AFTER,
        error=error,
        error_kind="misconfigured",
    )
    return int(finding.pk)


def _welcome() -> str:
    """The end of the link by which Wanda sets a first password."""
    account = make_account("wanda")
    number = urlsafe_base64_encode(force_bytes(account.pk))
    return f"{number}/{default_token_generator.make_token(account)}"


def _policy_file(root: Node) -> str:
    """A file that decides about a role, which somebody has given by hand since."""
    made = a_role(root, "filed", "allow USE_CATALOG on catalog shop")
    applied(root, FILE, by=acting("marek"))
    roles.assign(made, a_person("mia"), by=BY, authority=AUTHORITY)
    return AppliedFile.objects.get().scope


def _herd() -> dict[str, int]:
    """One of Hedda's: Dora looks after SALES, nobody yet after STOCK."""
    herd = herds.a_herd(owner="hedda")
    sales, stock = herds.namespaces(herd, "SALES", "STOCK")
    herds.role("dora")
    herds.give("dora", "SALES", "READ", "GRANT")
    herds.give("*@corp.com", "SALES", "READ", "WRITE_ATTRIBUTE")
    return {"herd": herd.id, "namespace": sales.id, "fresh": stock.id}


def _cdap() -> dict[str, int]:
    """One of Hedda's, with names that match much and nothing."""
    root = cdap.a_cdap(owner="hedda")
    for text in ("namespace:ns1", "dataset:ns1.orders", "dataset:ns1.items", "application:ns1.app"):
        entities.create(root, parse(text), by=OPERATOR)
    cdap.a_role(root, "readers", "dora")
    cdap.give(root, "dataset:ns1.o*", "role:readers", "READ")
    cdap.give(root, "stream:ns1.*", "dora", "READ", "WRITE")
    for text in ("dataset:ns1.items", "dataset:ns1.fresh"):
        cdap.give(root, text, "hedda", "ADMIN")
    entities.create(root, parse("dataset:ns1.other"), by=OPERATOR)
    of_old = realms.create(
        "cdap",
        "cdap_35",
        owner=ensure("user", "hedda"),
        settings={"policy": "3.5"},
        by=BY,
        authority=AUTHORITY,
    )
    return {"cdap": root.id, "cdap_35": of_old.id}


def _reviews() -> dict[str, int]:
    """One that goes on, one that has ended."""
    over = a_review()
    for row in rows(over).values():
        decides("olivia", row, "keep", reason="")
    management.end(over, by=acting("olivia"))
    completion.work(over)
    going = a_review()
    return {
        "review": going.pk,
        "review_over": over.pk,
        "row": min(item.number for item in rows(going).values()),
    }


def _rule_of_two(root: Node) -> int:
    """Whoever pays does not pack."""
    pack = Side(object=the("schema", "shop.stock").id, privileges=("MODIFY_TABLE",))
    pay = Side(role=the("role", "payers").id)
    rule = separation.make(root, "Paying and packing", pay, pack, by=acting("marek"))
    separation.let(
        rule,
        root,
        a_person("carl"),
        owner=a_person("olivia"),
        until=timezone.now() + timedelta(days=30),
        reason="Carl stands in until the new clerk comes",
        by=acting("marek"),
    )
    return rule.pk


def _emergency() -> int:
    """Carl reads the stock because the nightly load stopped."""
    duties.give(the("catalog", "shop"), emergency_access.DUTY, a_person("carl"), by=BY, authority=AUTHORITY)
    wanted = EmergencyRequest(the("table", "shop.stock.items"), "read", 2, "The nightly load stopped")
    return emergency_access.open_for_oneself(wanted, by=acting("carl")).pk


NONCE = "grant-of-refunds-to-ana"
"""The form by which Olivia granted something."""
FILE = """
format: 1
realm: demo
owns: [role:filed]
roles:
  filed:
    allows:
      catalog:shop: [USE_CATALOG]
"""
WHY = "/why?action=read&what=shop.sales.orders&type=table&who="
ROOMS = (
    ("Home", "olivia", "/"),
    ("Home of an analyst", "ana", "/"),
    ("Home of the realm's owner", "marek", "/"),
    ("Inbox", "olivia", "/inbox"),
    ("Inbox, settings", "olivia", "/inbox/settings"),
    ("Requests", "olivia", "/requests"),
    ("Requests, together", "olivia", "/requests/together?on={request_ana}&on={request_mia}"),
    ("Requests, none found", "olivia", "/requests?q=zzz"),
    ("Request", "mia", "/requests/{request_asked}"),
    ("Request, decide", "olivia", "/requests/{request_ana}/decide"),
    ("Request, new", "mia", "/requests/new?resource=demo/shop.sales.orders&type=table&action=write"),
    ("Requests, rules", "olivia", "/objects/{sales}/asking"),
    ("Requests, while away", "olivia", "/profile/away"),
    ("Reviews", "olivia", "/reviews"),
    ("Review", "olivia", "/reviews/{review}"),
    ("Review, progress", "olivia", "/reviews/{review}/progress"),
    ("Review, one row", "olivia", "/reviews/{review}/rows/{row}"),
    ("Review, pass on", "olivia", "/reviews/{review}/pass"),
    ("Review, how removal works", "olivia", "/reviews/{review}/how"),
    ("Review, end it", "olivia", "/reviews/{review}/do/end"),
    ("Review, more time", "olivia", "/reviews/{review}/do/extend"),
    ("Review, on paper", "olivia", "/reviews/{review_over}/print"),
    ("Review, result", "olivia", "/reviews/{review_over}/result"),
    ("Review, new", "marek", "/reviews/new"),
    ("Review, new, of nothing", "olivia", "/reviews/new?on={orders}&services=on"),
    ("Hints", "olivia", "/hints"),
    ("Hint, mend", "olivia", "/hints/{hint}/mend"),
    ("Hint, dismiss", "olivia", "/hints/{hint}/dismiss"),
    ("Catalog", "olivia", "/catalog/{sales}"),
    ("Catalog, top", "marek", "/catalog/{root}"),
    ("Catalog, nothing found", "olivia", "/catalog/{sales}?q=zzz"),
    ("Catalog, which realm", "hedda", "/catalog"),
    ("Object", "olivia", "/objects/{orders}"),
    ("Object, as a reader", "mia", "/objects/{orders}"),
    ("Object, rules", "olivia", "/objects/{orders}/rules"),
    ("Object, requests", "olivia", "/objects/{orders}/requests"),
    ("Object, history", "olivia", "/objects/{orders}/history"),
    ("Object, past", "olivia", "/objects/{orders}/then?at=2099-01-01"),
    ("Object, changes", "olivia", "/objects/{orders}/then?at=2026-01-01&show=changes"),
    ("Object, columns", "olivia", "/objects/{orders}/columns"),
    ("Object, uses", "olivia", "/objects/{orders}/uses"),
    ("Object, duties", "marek", "/objects/{sales}/duties"),
    ("Object, give a duty", "marek", "/objects/{sales}/duties/give?who=user:mia&duty=view_history"),
    ("Object, take a duty", "marek", "/objects/{sales}/duties/take?who=user:ana&duty=view_history"),
    ("Object, owner", "marek", "/objects/{orders}/owner?who=user:ana"),
    ("Grant", "olivia", "/objects/{orders}/grant?who=user:ana&who=group:analysts&may=MODIFY_TABLE"),
    ("Revoke", "olivia", "/objects/{refunds}/revoke?who=user:ana"),
    ("Undo", "olivia", "/undo/{given}"),
    ("Many, grant", "olivia", "/objects/many?on={orders}&on={refunds}&who=user:ana"),
    ("Many, revoke", "olivia", "/objects/many?on={orders}&on={refunds}&do=revoke&who=user:ana"),
    ("People", "marek", "/people"),
    ("People, nobody found", "marek", "/people?q=zzz"),
    ("Person", "marek", "/people/{ana}"),
    ("Person, nothing found", "marek", "/people/{ana}?q=zzz"),
    ("Person, oneself", "mia", "/people/{mia}"),
    ("Person, groups", "marek", "/people/{ana}/groups"),
    ("Person, history", "marek", "/people/{ana}/history"),
    ("Person, past", "marek", "/people/{ana}/then?at=2026-01-01"),
    ("Person, check as", "marek", "/people/{ana}/sees?in={sales}"),
    ("Person, grant", "olivia", "/people/{ana}/grant"),
    ("Person, roles", "marek", "/people/{ana}/roles"),
    ("Person, leaving", "marek", "/people/{ana}/leaving?who=user:olivia"),
    ("Person, same", "marek", "/people/{mia}/same?as=user:ana"),
    ("Person, what was done", "olivia", f"/people/done/{NONCE}"),
    ("Group", "marek", "/people/{analysts}/groups"),
    ("Group, put in", ADMIN, "/groups/{analysts}/join?who=user:ana"),
    ("Group, take out", ADMIN, "/groups/{analysts}/leave?who=user:mia"),
    ("Group, new", ADMIN, "/groups/new"),
    ("Roles", "marek", "/roles"),
    ("Roles, none found", "marek", "/roles?q=zzz"),
    ("Role", "marek", "/roles/{role}"),
    ("Role, new", "marek", "/roles/new?in={root}"),
    ("Role, give", "marek", "/roles/{role}/assign?who=group:staff"),
    ("Role, take back", "marek", "/roles/{role}/unassign?who=group:analysts"),
    ("Role, rights", "marek", "/roles/{role}/give/{orders}"),
    ("Role, on what", "marek", "/roles/{role}/give"),
    ("Role, many objects", "marek", "/roles/{role}/many"),
    ("Role, many rights", "marek", "/roles/{role}/many/give?o={orders}&o={refunds}"),
    ("Role, past", "marek", "/roles/{role}/then?at=2026-01-01"),
    ("Role, delete", "marek", "/roles/{role}/delete"),
    ("Roles, compare", "marek", "/roles/compare?a=sales_read&b=no_contractors"),
    ("Owners", "marek", "/owners"),
    ("Owners, nothing fits", "marek", "/owners?type=table"),
    ("Owners, hand over", "marek", "/owners/hand-over?of=olivia&who=user:ana"),
    ("Why, a no", "olivia", WHY + "service:nightly-load"),
    ("Why, a yes", "olivia", WHY + "mia"),
    ("Why, a denial", "olivia", WHY + "carl"),
    ("Why, unasked", "olivia", "/why"),
    ("Overview", "marek", "/overview"),
    ("Overview of a realm", "marek", "/overview/{root}"),
    ("Policy files, what differs", "marek", "/overview/{root}/files"),
    ("Policy files, let one go", "marek", "/overview/{root}/files/{policy_scope}/let-go"),
    ("Pipelines", "marek", "/pipelines"),
    ("Pipeline, a run", "marek", "/pipelines/runs/{run}"),
    ("History", "marek", "/history"),
    ("History, nothing found", "marek", "/history?q=zzz"),
    ("History, refusals", "marek", "/history/looks"),
    ("History, integrity", "marek", "/history/integrity"),
    ("History, archive", "marek", "/history/archive"),
    ("Sync", "marek", "/sync"),
    ("Realms", "marek", "/realms"),
    ("Realms, as a site admin", ADMIN, "/realms"),
    ("Realm", "marek", "/realms/{root}"),
    ("Realm, mode", "marek", "/realms/{root}/mode?to=off"),
    ("Realm, connect", "marek", "/realms/{root}/connect"),
    ("Realm, add a member", "marek", "/realms/{root}/members/add"),
    ("Realm, take a member out", "marek", "/realms/{root}/members/remove?who=user:ana"),
    ("Realm, settings", "hedda", "/realms/{cdap}/settings"),
    ("Realm, later rules", "hedda", "/realms/{cdap_35}/raise?to=4.3"),
    ("Realm, retention", "marek", "/realms/{root}/retention"),
    ("Realm, policy file", "marek", "/realms/{root}/policies"),
    ("Realm, new", ADMIN, "/realms/new"),
    ("Realm, nobody left", ADMIN, "/realms/{closed}/repair?who=user:ana"),
    ("Separation", "marek", "/realms/{root}/separation"),
    ("Separation, new", "marek", "/realms/{root}/separation/new"),
    ("Separation, a rule", "marek", "/separation/{rule}"),
    ("Separation, an exception", "marek", "/separation/{rule}/let?who=user:ana"),
    ("Separation, end an exception", "marek", "/separation/{rule}/let/end?who=user:carl"),
    ("Separation, end a rule", "marek", "/separation/{rule}/end"),
    ("Emergencies", "carl", "/emergency"),
    ("Emergency", "marek", "/emergency/{emergency}"),
    ("Accounts", ADMIN, "/accounts"),
    ("Accounts, none found", ADMIN, "/accounts?q=zzz"),
    ("Account", ADMIN, "/accounts/{account}"),
    ("Account, disable", ADMIN, "/accounts/{account}/disable"),
    ("Account, bind", ADMIN, "/accounts/{account}/bind?who=user:mia"),
    ("Account, new", ADMIN, "/accounts/new"),
    ("Service account", ADMIN, "/services/{service}"),
    ("Service account, new", ADMIN, "/services/new"),
    ("Service account, who answers", ADMIN, "/services/{service}/keeper?who=user:mia"),
    ("Service account, disable", ADMIN, "/services/{service}/disable"),
    ("Herd", "hedda", "/herds/{herd}"),
    ("Herd, as anybody", "olivia", "/herds/{herd}/mine"),
    ("Herd, roles", "hedda", "/herds/{herd}/roles"),
    ("Herd, take a role", "hedda", "/herds/{herd}/roles/take?role=DATA_OWNER&who=user:dora"),
    ("Herd, a user", "hedda", "/herds/{herd}/users?id=*@corp.com"),
    ("Herd, remove a user", "hedda", "/herds/{herd}/users/remove?id=*@corp.com"),
    ("Herd, new namespace", "hedda", "/herds/{herd}/new"),
    ("Namespace", "hedda", "/namespaces/{namespace}"),
    ("Namespace, to set up", "hedda", "/namespaces/{fresh}"),
    ("Namespace, history", "hedda", "/namespaces/{namespace}/history"),
    ("Namespace, delete", "hedda", "/namespaces/{namespace}/delete"),
    ("CDAP", "hedda", "/instances/{cdap}"),
    ("CDAP, entities", "hedda", "/instances/{cdap}/entities?in=namespace:ns1"),
    ("CDAP, add an entity", "hedda", "/instances/{cdap}/entities/new?in=namespace:ns1"),
    ("CDAP, delete an entity", "hedda", "/instances/{cdap}/entities/delete?text=dataset:ns1.items"),
    ("CDAP, a name", "hedda", "/instances/{cdap}/name?text=dataset:ns1.o*"),
    ("CDAP, give", "hedda", "/instances/{cdap}/grant?text=dataset:ns1.*&who=user:dora"),
    ("CDAP, revoke", "hedda", "/instances/{cdap}/revoke?text=dataset:ns1.o*&who=role:readers"),
    ("First steps", ADMIN, "/first"),
    ("Settings", "olivia", "/profile"),
    ("Settings, second factor", "olivia", "/profile/second-factor"),
    ("Settings, sign in again", "olivia", "/sign-in/again"),
    ("Search", "olivia", "/search?q=o"),
    ("Search, nothing", "olivia", "/search?q=zzz"),
    ("Help", "olivia", "/help"),
    ("Calls for programs", "olivia", "/help/calls"),
    ("Keys", "olivia", "/keys"),
    ("Not found", "olivia", "/objects/987654321"),
    ("Sign in", "", "/sign-in"),
    ("Welcome", "", "/welcome/{welcome}"),
)
"""What a room is called, who looks, and where."""
ROOMS_OUT_THERE = (
    ("Sync of a catalog", "marek", "/sync/{backend}"),
    ("Sync, pause", "marek", "/sync/{backend}/pause"),
    ("Sync, runs", "marek", "/sync/{backend}/runs"),
    ("Sync, a run", "marek", "/sync/runs/{sync_run}"),
    ("Sync, discovery", "marek", "/sync/{backend}/discover"),
    ("Sync, take an owner over", "marek", "/sync/{backend}/discover/owner?name=mia"),
    ("Sync, a stuck right", "marek", "/sync/findings/{stuck}/stuck"),
    ("Sync, a stuck right, as an owner", "olivia", "/sync/findings/{stuck}/stuck"),
    ("Sync, left as it was", "marek", "/sync/findings/{stuck}/leave"),
    ("Sync, gone", "marek", "/sync/{backend}/vanished"),
    ("Sync, adopt", "marek", "/sync/findings/{foreign}/adopt"),
    ("Sync, accept", "olivia", "/sync/findings/{foreign}/accept"),
    ("Sync, revoke", "olivia", "/sync/findings/{foreign}/revoke"),
    ("Sync, several foreign grants", "marek", "/sync/findings/together/adopt?on={foreign}"),
    ("Schema, mirrored", "olivia", "/objects/{lake_sales}"),
    ("Object, mirrored", "olivia", "/objects/{lake_orders}"),
    ("Object, sync", "olivia", "/objects/{lake_orders}/sync"),
    ("Object, applied", "olivia", "/objects/{lake_orders}/applied"),
)
"""The same of a catalog with a database behind it, as `mirrored` makes it."""

NO_ROOM = {
    "checker": "a file",
    "policy_file_text": "a file",
    "policy_taken_in": "a file",
    "cdap_grant_people": "a part of a page: whom one may give to",
    "grant_people": "a part of a page: whom one may give to",
    "discover_progress": "a part of a page: how far it is",
    "effect": "a part of a page: how far it is",
    "integrity_progress": "a part of a page: how far it is",
    "pipeline_progress": "a part of a page: how far it is",
    "sync_progress": "a part of a page: how far it is",
    "sync_standing": "a part of a page: how it stands",
    "found": "a part of a page: what the palette found",
    "history_terms": "a part of a page: words to search by",
    "names": "a part of a page: names while one types",
    "nodes": "a part of a page: a branch of the tree",
    "object_state": "a part of a page: how far a right is",
    "review_row_members": "a part of a page: who is in a row's group",
    "review_row_more": "a part of a page: what a row unfolds to",
    "review_state": "a part of a page: how far a review is",
    "requests_count": "a number",
    "reviews_count": "a number",
    "oidc_callback": "leads on, or to the sign-in page",
    "second_step": "comes after a password: looked at last by test_every_room_is_accessible_and_fits",
    "sync_agree": "comes before a catalog is mirrored: looked at last by the same test",
}
"""Routes that answer a GET and are no room, beside those that end in .csv, with the cause."""
