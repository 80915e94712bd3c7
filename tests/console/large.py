"""A large site: 100,000 tables and 10,000 people, by the one way to write, many facts to a change.

The small shop of the other tests lies within it, so that every page can be asked in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from django.db import connection

from accounts import people
from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Placement, Securable
from catalog.nodes import Node
from lakewarden.law.facts import Level
from policies.decisions.personal_role_names import name_for, pseudonymous
from policies.events import GRANT_ADDED, GROUP_JOINED, MEMBER_ADDED, ROLE_ASSIGNED, ROLE_CREATED, EventDraft
from policies.models import Assignment, Grant, RealmMember
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import objects, realm_of
from policies.services.objects import NewObject
from tests.factories import AUTHORITY, BY, a_role, admit, the, under

TABLES, PEOPLE = 100_000, 10_000
GROUP_SIZE, ROLES, DIRECT = 50, 400, 2_000
NOUNS = (
    *("account", "basket", "click", "delivery", "event", "forecast", "goods", "hold", "invoice", "journal"),
    *("key", "ledger", "margin", "note", "offer", "payment", "quote", "return", "session", "ticket"),
    *("usage", "visit", "warehouse", "xref", "yield", "zone"),
)
FIRST = (
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gina",
    "Hugo",
    "Ida",
    "Jan",
    "Kaya",
    "Leo",
    "Maya",
    "Nils",
)
LAST = (
    "Abel",
    "Brandt",
    "Cole",
    "Diaz",
    "Engel",
    "Fuchs",
    "Gomez",
    "Huang",
    "Ivers",
    "Jonas",
    "Kern",
    "Lang",
)
NEEDLE = "refund_keys_of_lisbon"
"""The one table among them that a walk looks for."""


def fill(root: Node, tables: int = TABLES, persons: int = PEOPLE) -> None:
    """So many tables and people beside the shop: one schema of nine tenths, and hundreds of small ones."""
    crowd = _people(root, persons)
    small = min(500, tables // 20)
    flat, teams = under(the("catalog", "shop"), "schema", "raw_events")[0], _teams(root, small)
    owner = people.ensure("user", "owen")
    people.make_account("owen")
    admit(root, "owen")
    _register(flat, tables - small * 10, owner)
    for team in teams:
        under(team, "table", *(f"{NOUNS[at]}_{team.name}" for at in range(10)))
    under(teams[-1], "table", NEEDLE)
    _roles(root, teams, crowd)
    _direct(crowd[:DIRECT], flat)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself a minute after such a load


def _register(schema: Node, many: int, owner: Principal) -> None:
    names = (
        f"{NOUNS[at % len(NOUNS)]}_{2000 + at // 12 % 30}_{at % 12 + 1:02}_{at:06}" for at in range(many)
    )
    while some := list(islice(names, 10_000)):
        new = [NewObject("table", name, comment=f"Loaded nightly into {name}") for name in some]
        objects.register(schema, new, by=BY, authority=AUTHORITY, owner=owner)


def _teams(root: Node, many: int) -> list[Node]:
    [catalog] = under(root, "catalog", "teams")
    return under(catalog, "schema", *(f"team_{at:03}" for at in range(many)))


def _begin(root: Node, kind: str, facts: Iterable[tuple[Fact, EventDraft]]) -> None:
    """One change for each ten thousand facts of one model."""
    rest = iter(facts)
    while some := list(islice(rest, 10_000)):
        with change(kind, realm=realm_of(root), by=BY) as current:
            current.begin_all(some, by=AUTHORITY)


def _people(root: Node, many: int) -> list[Principal]:
    """Everybody is a member, in a group of fifty, and in the one of all."""
    rows = [Principal(kind="user", name=f"p{at:05}", display_name=_called(at)) for at in range(many)]
    crowd = Principal.objects.bulk_create(rows, batch_size=2000)
    groups = [people.ensure("group", f"group_{at:03}") for at in range(max(1, many // GROUP_SIZE))]
    everybody = people.ensure("group", "everybody")
    realm = realm_of(root)
    joined = [(groups[at % len(groups)], person) for at, person in enumerate(crowd)] + [
        (everybody, item) for item in crowd
    ]
    members = (
        (RealmMember(realm=realm, principal=item), make_event(MEMBER_ADDED, root, item))
        for item in (*crowd, *groups, everybody)
    )
    _begin(root, MEMBER_ADDED, members)
    _begin(
        root,
        GROUP_JOINED,
        (
            (
                Membership(group=group, member=person),
                make_event(GROUP_JOINED, None, person, group, group=group.pseudonym),
            )
            for group, person in joined
        ),
    )
    return crowd


def _called(at: int) -> str:
    return f"{FIRST[at % len(FIRST)]} {LAST[at // len(FIRST) % len(LAST)]} {at:05}"


def _roles(root: Node, teams: Sequence[Node], crowd: Sequence[Principal]) -> None:
    """A role for each of many teams, held by a group; one that lets everybody read the shop's schema."""
    for at, team in enumerate(teams[:ROLES]):
        full = ".".join(team.names[1:])
        group = f"group:group_{at % max(1, len(crowd) // GROUP_SIZE):03}"
        a_role(root, f"{team.name}_read", f"allow SELECT_TABLE on schema {full}", held_by=(group,))
    reads = "allow SELECT_TABLE on schema shop.sales"
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "everybody_reads", *way, reads, held_by=("group:everybody",))


def _direct(some: Sequence[Principal], flat: Node) -> None:
    """Each was granted a table of the large schema, and the shop's orders, directly."""
    tables = Placement.objects.open().filter(parent=flat.id).values_list("securable", "name")[: len(some)]
    orders = the("table", "shop.sales.orders")
    root = the("metalake")
    roles = Securable.objects.bulk_create(
        [Securable(realm_id=root.realm_id, type="role", opened=1) for _ in some], batch_size=2000
    )
    about = [
        Node(
            row.pk,
            root.realm_id,
            root.kind,
            (*root.levels, Level("role", row.pk)),
            (*root.names, "personal role"),
        )
        for row in roles
    ]
    held = list(zip(roles, about, some, strict=True))
    _begin(
        root,
        ROLE_CREATED,
        (
            (_place(root, role, person), make_event(ROLE_CREATED, node, person, role=pseudonymous(person)))
            for role, node, person in held
        ),
    )
    assigned = (
        (
            Assignment(role=role, holder=person, origin="system"),
            make_event(ROLE_ASSIGNED, node, person, role=pseudonymous(person)),
        )
        for role, node, person in held
    )
    _begin(root, ROLE_ASSIGNED, assigned)
    given = ((role, person, key) for (role, _, person), (key, _) in zip(held, tables, strict=False))
    _begin(root, GRANT_ADDED, (_granted(role, person, key, flat) for role, person, key in given))
    _begin(root, GRANT_ADDED, (_granted(role, person, orders.id, orders) for role, _, person in held[:300]))


def _place(root: Node, role: Securable, principal: Principal) -> Placement:
    return Placement(
        securable=role,
        type="role",
        name=name_for(principal),
        parent_id=root.id,
        scope_id=root.id,
        ancestors=[root.id],
        origin="system",
    )


def _granted(role: Securable, principal: Principal, key: int, near: Node) -> tuple[Grant, EventDraft]:
    grant = Grant(role=role, securable_id=key, privilege="SELECT_TABLE")
    return grant, make_event(
        GRANT_ADDED, near, principal, privilege="SELECT_TABLE", holder=principal.pseudonym
    )
