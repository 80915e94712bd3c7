"""The people, groups and roles of the demo: what the console knows before anybody touches it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from accounts import people
from accounts.models import User
from catalog.nodes import Node
from catalog.queries import find, realm_named, root
from lakewarden.law.objects import ObjectRef
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.authority import OPERATOR, Actor, of_operator
from policies.events import PASSWORD_SET
from policies.models import AccessRequest, Backend, Event, Review, Use
from policies.requests import submission
from policies.requests.submission import Asking, WantedAction
from policies.reviews import start
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.services import duties, members, owners, realms, roles
from policies.services.accounts import keep_password
from policies.services.roles import Privilege
from policies.sync.connections import registration

REALM, CATALOG = "demo", "shop"

PEOPLE = {
    "marek": "Marek Malik",
    "olivia": "Olivia Owner",
    "ana": "Ana Analyst",
    "ada": "Ada Auditor",
    "mia": "Mia Meyer",
    "tomas": "Tomás Torres",
    "noah": "Noah Novak",
    "carl": "Carl Conrad",
    "dora": "Dora Dietz",
}
SERVICES = {"nightly_load": "nightly-load"}
GROUPS = {
    "all_staff": ("All staff", tuple(PEOPLE)),
    "analysts": ("Analysts", ("mia", "noah", "carl")),
    "sales_ops": ("Sales ops", ("noah", "tomas")),
    "auditors": ("Auditors", ("ada",)),
}
READING = ("USE_SCHEMA", "SELECT_TABLE", "SELECT_VIEW")
Rules = tuple[tuple[str, tuple[str, ...], str], ...]
ROLES: dict[str, tuple[tuple[str, Rules], ...]] = {
    "shop_browse": (
        (
            "group:all_staff",
            (
                ("catalog shop", ("USE_CATALOG",), "allow"),
                ("schema shop.sales", ("USE_SCHEMA",), "allow"),
                ("table shop.sales.channels", ("SELECT_TABLE",), "allow"),
            ),
        ),
    ),
    "sales_read": (("group:analysts", (("schema shop.sales", READING, "allow"),)),),
    "sales_write": (("group:sales_ops", (("schema shop.sales", (*READING, "MODIFY_TABLE"), "allow"),)),),
    "stock_read": (("group:sales_ops", (("schema shop.stock", READING, "allow"),)),),
    "catalog_audit": (("group:auditors", (("catalog shop", READING, "allow"),)),),
    "no_contractors": (("user:carl", (("schema shop.sales", ("SELECT_TABLE",), "deny"),)),),
    "load_raw": (
        (
            "service:nightly_load",
            (
                ("catalog shop", ("USE_CATALOG",), "allow"),
                ("schema shop.raw_events", (*READING, "MODIFY_TABLE", "CREATE_TABLE"), "allow"),
            ),
        ),
    ),
}
OWNERS = {"catalog shop": "marek", "schema shop.sales": "olivia", "schema shop.billing": "olivia"}
USES = (
    ("mia", "table shop.sales.orders", "read"),
    ("mia", "table shop.sales.customers", "read"),
    ("tomas", "table shop.stock.levels", "read"),
    ("tomas", "table shop.stock.suppliers", "read"),
    ("nightly_load", "table shop.raw_events.dead_letters", "write"),
)
"""What the shop's jobs told of, so that there is something to say about what nobody uses."""
TOLD = (40, 30, 20, 10, 1)  # days ago
BY = OPERATOR
REASON = "Returns by customer for the board meeting"
REVIEW = "Who has access to sales"
PURPOSE = "A look at what was given on sales: keep what is needed, remove the rest."


def accounts(passwords: dict[str, str]) -> None:
    """The people who can sign in, and the groups they are in."""
    for name, display in PEOPLE.items():
        account = people.make_account(name, display_name=display)
        password = passwords.get(name)
        if password is not None and not _is_kept(account, password):
            keep_password(account, password, by=BY, authority=of_operator(BY))
    for name, display in SERVICES.items():
        people.ensure("service", name, display_name=display)
    for name, (display, inside) in GROUPS.items():
        group = people.ensure("group", name, display_name=display)
        for item in inside:
            members.join_group(group, people.ensure("user", item), by=BY, authority=of_operator(BY))


def _is_kept(account: User, password: str) -> bool:
    """Whether it is the password, and stands on the record."""
    events = Event.objects.filter(kind=PASSWORD_SET)
    who = account.principal.pseudonym if account.principal else ""
    return account.check_password(password) and events.filter(people__contains=[who]).exists()


def realm() -> Node:
    """The metalake `demo` with its members."""
    root_node = realm_named(REALM)
    place = (
        root(root_node)
        if root_node
        else realms.create(
            "gravitino",
            REALM,
            owner=people.ensure("user", "marek"),
            by=BY,
            authority=of_operator(BY),
            comment="The demo: a web shop's data.",
        )
    )
    named = [*(("user", name) for name in PEOPLE), *(("service", name) for name in SERVICES)]
    everybody = [people.ensure(kind, name) for kind, name in (*named, *(("group", name) for name in GROUPS))]
    for item in everybody:
        members.add(place, item, by=BY, authority=of_operator(BY))
    return place


def connection(place: Node, url: str) -> Backend:
    """Catalog `shop`, connected to the shop's database."""
    return registration.connect(
        place, CATALOG, "postgresql", url, policy="repair", by=BY, authority=of_operator(BY)
    )


def access(place: Node) -> None:
    """Roles, who holds them, owners and duties; what is there already stays as it is."""
    for name, given in ROLES.items():
        if find(ObjectRef("role", REALM, (name,))) is None:
            _role(place, name, given)
    for text, owner in OWNERS.items():
        if (node := _object(text)) is not None:
            owners.set_owner(node, people.ensure("user", owner), by=BY, authority=of_operator(BY))
    for duty in ("view_history", "export_history"):
        duties.give(place, duty, people.ensure("user", "ada"), by=BY, authority=of_operator(BY))


def questions(place: Node) -> None:
    """One request that waits for Olivia, and one review that Olivia leads, so that their pages are alive.

    What Dora asked and Olivia reviewed before stays alone.
    """
    customers, sales = _object("table shop.sales.customers"), _object("schema shop.sales")
    dora, olivia = (people.ensure("user", name) for name in ("dora", "olivia"))
    done = AccessRequest.objects.filter(asker=dora).exists() or Review.objects.filter(title=REVIEW).exists()
    if done or customers is None or sales is None:
        return
    wanted = (WantedAction("table", customers.ref.id, "read"),)
    submission.ask(Asking(wanted, dora, reason=REASON, lasts="P30D"), by=Actor(dora, "console"))
    plan = Plan(REVIEW, Scope((sales,)), (Stage("owner"),), purpose=PURPOSE)
    start.start(plan, by=Actor(olivia, "console"))


def report_uses(place: Node) -> None:
    """What the shop's jobs told that they used, run by run; told once, and not beside what others tell."""
    if Use.objects.filter(realm=place.realm_id, run__startswith="nightly-").exists():
        return
    jobs, now = people.ensure("service", "nightly_load"), timezone.now()
    for days in TOLD:
        at = now - timedelta(days=days)
        reported = [
            ReportedUse(
                people.ensure("service" if name in SERVICES else "user", name), node, action, True, at
            )
            for name, text, action in USES
            if (node := _object(text)) is not None
        ]
        uses.take(place.realm_id, jobs, f"nightly-{at:%Y-%m-%d}", reported)


def _role(place: Node, name: str, given: Iterable[tuple[str, Rules]]) -> None:
    role = roles.create(place, name, by=BY, authority=of_operator(BY), owner=people.ensure("user", "marek"))
    for holder, rules in given:
        kind, _, who = holder.partition(":")
        roles.assign(role, people.ensure(kind, who), by=BY, authority=of_operator(BY))
        for text, codes, effect in rules:
            if (node := _object(text)) is not None:
                wanted = [Privilege(code, effect) for code in codes]
                roles.add_privileges(role, node, wanted, by=BY, authority=of_operator(BY))


def _object(text: str) -> Node | None:
    type_, _, name = text.partition(" ")
    return find(ObjectRef(type_, REALM, tuple(name.split("."))))
