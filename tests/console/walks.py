"""The main job of each room, as steps that a mouse and a keyboard can both take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from accounts.models import Membership, Token, User
from accounts.people import ensure
from catalog.queries import find, mode_of
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask, duties
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import (
    AccessRequest,
    Assignment,
    Grant,
    Hint,
    PipelineRun,
    RealmMember,
    ReviewRow,
    SeparationRule,
)
from policies.services import grants
from tests.console.test_browser import can_read
from tests.factories import a_person, the


@dataclass(frozen=True)
class Walk:
    """Who goes from where, what they use or see on the way, what is so then.

    A step is a kind of control, its name (#2: the second so called), and what is typed there.
    With `busy` there is something going on in every room; else it is the plain shop.
    """

    room: str
    who: str
    start: str
    steps: str
    then: Callable[[], bool] = lambda: True
    busy: bool = False

    def read(self) -> list[tuple[str, ...]]:
        """Each step as its kind, its name, the text to type and the key after it."""
        return [_read(step) for step in self.steps.split(" > ")]


def _read(step: str) -> tuple[str, ...]:
    kind, _, rest = step.partition(" ")
    if kind == "see":
        return kind, rest
    name, _, typed = rest.partition(": ")
    text, enter, _ = typed.partition(" ⏎")
    return kind, name, *([text] if typed else []), *(["Enter"] if enter else [])


def holds_returns() -> bool:
    role = find(ObjectRef("role", "demo", ("returns",)))
    return (
        role is not None and Assignment.objects.open().filter(role=role.id, holder=a_person("ana")).exists()
    )


WALKS = (
    Walk(
        "People: find somebody and grant to them",
        "olivia",
        "/people",
        "searchbox Filter by name: ana ⏎ > link Ana Analyst > link Grant to Ana Analyst > "
        "searchbox Name of an object: orders ⏎ > link orders > see may read orders > "
        "button Grant read until > see Ana Analyst: read on orders",
        lambda: can_read("ana"),
    ),
    Walk(
        "Roles: make one and give it",
        "marek",
        "/roles",
        "link Create a role > textbox Name: returns > button Create the role > "
        "link Assign the role > textbox Who: ana ⏎ > see Ana Analyst > "
        "button Assign returns until > see Ana Analyst: role returns",
        holds_returns,
    ),
    Walk(
        "Roles: make one in one form",
        "marek",
        "/roles",
        "link Create a role > textbox Name: returns > textbox Grants access on: orders ⏎ > "
        "see Read the table > textbox Held by: ana ⏎ > see Ana Analyst > button Create the role > "
        "see Role returns is created",
        holds_returns,
    ),
    Walk(
        "Owners: hand one object over",
        "marek",
        "/owners?type=table",
        "checkbox orders > button Hand over > textbox Who: ana ⏎ > "
        "see becomes the owner of 1 object > button Make Ana Analyst the owner of 1 object > "
        "see Ana Analyst owns 1 object more",
        lambda: owner_of(the("table", "shop.sales.orders")) == a_person("ana"),
    ),
    Walk(
        "Groups: put somebody in",
        "sam",
        "/people?kind=group",
        "link analysts > link People and roles > link Add someone > textbox Who: ana ⏎ > "
        "see read all tables in sales > button Add 1 person to analysts > "
        "see Ana Analyst: in analysts",
        lambda: Membership.objects.open().filter(group__name="analysts", member=a_person("ana")).exists(),
    ),
    Walk(
        "Duties: give one",
        "marek",
        "/objects/{sales}/duties",
        "link Assign a duty > textbox Who: ana ⏎ > see Ana Analyst > checkbox History > "
        "button Preview the change > see may read the history of sales > "
        "button Assign the duty > see 1 duty on sales",
        lambda: duties.has(a_person("ana"), "view_history", the("schema", "shop.sales")),
    ),
    Walk(
        "Accounts: disable one",
        "sam",
        "/accounts",
        "link Mia Meyer > link Disable > textbox Reason: Left on Friday > button Disable > see is disabled",
        lambda: not User.objects.get(username="mia").is_active,
    ),
    Walk(
        "Tokens: make one and revoke it",
        "mia",
        "/profile",
        "checkbox report > button Create a token > see The new token > button Revoke > "
        "see The token is revoked",
        lambda: Token.objects.get().revoked is not None,
    ),
    Walk(
        "Sessions: sign out elsewhere",
        "mia",
        "/profile",
        "button Sign out the other sessions > see Signed out in 1 other browser",
        lambda: True,
    ),
    Walk(
        "Realms: switch authorization off",
        "marek",
        "/realms",
        "link demo > link Set to off > see is no longer protected by its rules > "
        "button Set demo to off > see Authorization is off in demo.",
        lambda: mode_of(the("metalake").realm_id) == "off",
    ),
    Walk(
        "Members: admit somebody",
        "marek",
        "/people",
        "link Add a member > textbox Name: zoe > button Add to demo > see zoe is now a member of demo",
        lambda: RealmMember.objects.open().filter(principal__name="zoe").exists(),
    ),
    Walk(
        "Connections: a try that finds nothing keeps nothing",
        "marek",
        "/realms/{demo}/connect",
        "link PostgreSQL > textbox Catalog: lake > textbox Server: 127.0.0.1 > "
        "textbox Port: 9 > textbox Database: lake > textbox Account: console > button Test > "
        "see The connection failed.",
        lambda: find(ObjectRef("catalog", "demo", ("lake",))) is None,
    ),
    Walk(
        "Home and Requests: decide what waits",
        "olivia",
        "/",
        "link Decide requests > link Decide request > see gains > button Approve > see approved",
        lambda: can_read("ana"),
        busy=True,
    ),
    Walk(
        "Why: learn what is missing, and ask for it",
        "ana",
        "/why",
        "combobox Who: ana > textbox What: shop.sales.orders ⏎ > see This is missing > "
        "link Request access > textbox Why: Returns report for the board > "
        "button Send the request > see Waiting for a decision",
        lambda: AccessRequest.objects.get().state == "asked",
    ),
    Walk(
        "Catalog: find a table, see who has access",
        "marek",
        "/catalog/{sales}",
        "searchbox Filter by name: ord ⏎ > link orders #2 > see analysts > see Olivia Owner",
    ),
    Walk(
        "Catalog: grant on what is ticked",
        "olivia",
        "/catalog/{sales}",
        "checkbox Choose orders > checkbox Choose refunds > button Grant on chosen > "
        "textbox Who: ana ⏎ > see may read orders and refunds > "
        "button Grant read until > see Ana Analyst: 3 rights on 2 objects",
        lambda: can_read("ana"),
    ),
    Walk(
        "Object: grant",
        "olivia",
        "/objects/{orders}",
        "link Grant access > textbox Who: ana ⏎ > see may read orders > "
        "button Grant read until > see Ana Analyst: read on orders",
        lambda: can_read("ana"),
    ),
    Walk(
        "Object: revoke, and take it back",
        "olivia",
        "/objects/{refunds}",
        "link Revoke from Ana Analyst > see loses read on refunds > "
        "button Revoke read from Ana Analyst > see revoked from Ana Analyst > button Undo > "
        "see is undone",
        lambda: bool(ask.ask(a_person("ana"), "read", the("table", "shop.sales.refunds"))),
        busy=True,
    ),
    Walk(
        "Reviews: decide a row",
        "olivia",
        "/reviews",
        "link Decide > radio Keep > textbox Reason for the other rows: Still works there > "
        "button Submit > see 1 decision submitted",
        lambda: ReviewRow.objects.filter(review__state="open", choice="keep").count() == 1,
        busy=True,
    ),
    Walk(
        "Hints: dismiss one",
        "olivia",
        "/hints",
        "link Dismiss #2 > textbox Why it stays: Everybody starts here > button Dismiss the hint > "
        "see dismissed",
        lambda: Hint.objects.get().dismissed is not None,
        busy=True,
    ),
    Walk(
        "History: what was done about somebody",
        "olivia",
        "/history",
        "searchbox Search the history: person:ana ⏎ > see granted Read on shop.sales.refunds",
        busy=True,
    ),
    Walk(
        "History: undo a change of their own",
        "olivia",
        "/objects/{refunds}/history",
        "link Undo > see loses read on refunds > button Undo change > see is undone",
        lambda: not ask.ask(a_person("ana"), "read", the("table", "shop.sales.refunds")),
        busy=True,
    ),
    Walk(
        "Search: find a table from any page",
        "olivia",
        "/help",
        "searchbox Find a table: refunds ⏎ > see Who has access",
    ),
    Walk(
        "Roles: compare two",
        "marek",
        "/roles/{role}",
        "link Compare > combobox Second: no_contractors ⏎ > see They differ",
    ),
    Walk(
        "Roles: delete one",
        "marek",
        "/roles/{payers}",
        "link Delete > see Delete role payers? > button Delete payers > see is deleted",
        lambda: find(ObjectRef("role", "demo", ("payers",))) is None,
        busy=True,
    ),
    Walk(
        "Roles: deny on many objects",
        "marek",
        "/roles/{role}",
        "link Set on many objects > checkbox orders > checkbox refunds > "
        "button Choose rights > radio Deny > button Preview the change > see on orders > "
        "button Change sales_read on 2 tables > see is changed on 2 tables",
        lambda: Grant.objects.open().filter(securable=the("table", "shop.sales.orders").id).exists(),
    ),
    Walk(
        "Person: see the catalog as they do",
        "marek",
        "/people/{mia}",
        "link Check as > link demo #2 > link shop > link sales > see orders > link Why? > see Mia Meyer can",
    ),
    Walk(
        "Person: your own access, and by which way",
        "mia",
        "/people",
        "link Your own access > see Where you have rights > link Path to sales > "
        "see Paths of Mia Meyer to shop.sales",
    ),
    Walk(
        "Leaving: hand over and let go",
        "marek",
        "/people/{olivia}/leaving",
        "textbox Hand over to: mia ⏎ > see becomes the owner of > button Carry out > see saved",
        lambda: owner_of(the("schema", "shop.sales")) == a_person("mia"),
    ),
    Walk(
        "Same access: as a colleague has",
        "olivia",
        "/people/{mia}/same?as=user:ana",
        "button Grant > see saved",
        lambda: grants.direct(the("table", "shop.sales.refunds"), a_person("mia")).exists(),
        busy=True,
    ),
    Walk(
        "Accounts: make one",
        "sam",
        "/accounts",
        "link Create an account > textbox Name to sign in with: noah > button Create the account > "
        "button Create a password link > see /welcome/",
        lambda: User.objects.filter(username="noah").exists(),
    ),
    Walk(
        "Service accounts: make one and a token for it",
        "sam",
        "/accounts",
        "link Create a service account > textbox Name of the service account: loader > "
        "textbox Who: ana ⏎ > see is responsible for > button Make > checkbox report > "
        "button Create a token > see The new token",
        lambda: Token.objects.get().principal == ensure("service", "loader"),
    ),
    Walk(
        "Settings: a time zone",
        "mia",
        "/profile",
        "combobox Time zone: Europe/Lisbon > button Use this time zone > "
        "see Times are shown in Europe/Lisbon",
        lambda: User.objects.get(username="mia").time_zone == "Europe/Lisbon",
    ),
    Walk(
        "Help: look a word up",
        "mia",
        "/help",
        "searchbox Find a word: ends by itself ⏎ > see ends by itself",
    ),
    Walk(
        "Pipelines: start one",
        "marek",
        "/pipelines",
        "button Start Effective access of demo > see % done",
        lambda: PipelineRun.objects.get().name == "effective_access",
    ),
    Walk(
        "Overview: a realm in numbers",
        "marek",
        "/overview",
        "link demo > see Pairs that can read",
        busy=True,
    ),
    Walk(
        "Emergency: open and end it",
        "carl",
        "/emergency",
        "textbox Object, by its full name: shop.stock > "
        "textbox What happened: The nightly load stopped > button Open it for me now > "
        "see Emergency access is open until > button End it now > "
        "see Somebody else with authority",
        busy=True,
    ),
    Walk(
        "Separation: make a rule",
        "marek",
        "/realms/{demo}/separation",
        "link Create a rule > textbox Name of the rule: Reading and paying > "
        "combobox A role: sales_read > combobox A role #2: payers > button See who holds both > "
        "see Nobody holds both now. > button Create the rule > see Reading and paying",
        lambda: SeparationRule.objects.filter(name="Reading and paying").exists(),
        busy=True,
    ),
    Walk(
        "Realms: make one",
        "sam",
        "/realms",
        "link Create a realm > textbox Name: lake > textbox Owner: ana > button Create the realm > see lake",
        lambda: owner_of(the("metalake", realm="lake")) == a_person("ana"),
    ),
    Walk(
        "Inbox: how one is told",
        "olivia",
        "/inbox",
        "link Notification settings > textbox Your mail address: olivia@example.org > button Save "
        "> see Saved",
        lambda: User.objects.get(username="olivia").email == "olivia@example.org",
    ),
)
