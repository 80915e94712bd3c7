"""Random realms in the console's database, with everything in them that a law looks at."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts import people
from accounts.models import Membership, Principal
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.law import dialects
from lakewarden.spark.pipelines.memory_tables import InMemory
from policies.analytics import uses
from policies.analytics.pipelines import rows
from policies.analytics.uses import ReportedUse
from policies.models import Assignment, Counter, Grant, Ownership, RealmMember
from tests import bulk
from tests.cdap import world as cdaps
from tests.factories import a_metalake, a_role, under
from tests.herd import world as herds

NAMES = ("ana", "bo", "cem", "Dora", "eli", "Ana", "fay@shop", "gus@SHOP")
GROUPS = ("staff", "analysts", "strangers")
SERVICES = ("etl", "report")


class Making:
    """Writes facts past the services: also such as they would refuse, which must count for nothing."""

    def __init__(self, chance: random.Random, root: Node) -> None:
        self.chance, self.root = chance, root
        self.now = timezone.now()
        self.law = dialects.get(root.kind)
        self.revision = Counter.objects.get().revision
        self.people = [people.ensure("user", name) for name in NAMES]
        self.services = [people.ensure("service", name) for name in SERVICES]
        self.groups = [people.ensure("group", name) for name in GROUPS]

    @property
    def everybody(self) -> list[Principal]:
        return [*self.people, *self.services]

    def window(self) -> dict[str, datetime | None]:
        """Mostly always; else one that holds, is over, or is still to come."""
        day = timedelta(days=1)
        choices: list[tuple[datetime | None, datetime | None]] = [(None, None)] * 7
        choices += [
            (self.now - day, self.now + day),
            (None, self.now - day),
            (self.now + day, None),
        ]
        start, end = self.chance.choice(choices)
        return {"valid_from": start, "valid_until": end}

    def some(self, things: Iterable[Any], share: float) -> list[Any]:
        return [thing for thing in things if self.chance.random() < share]

    def put(self, rows: Iterable[Any]) -> None:
        bulk.put(list(rows), self.revision)

    def together(self) -> None:
        """People into groups, groups and people into the realm; not everybody, and not always."""
        self.put(
            Membership(group=group, member=item, **self.window())
            for group in self.groups
            for item in self.some(self.everybody, 0.4)
        )
        inside = set(
            RealmMember.objects.open().filter(realm=self.root.realm_id).values_list("principal", flat=True)
        )
        self.put(
            RealmMember(realm_id=self.root.realm_id, principal=item, **self.window())
            for item in self.some([*self.everybody, *self.groups], 0.85)
            if item.pk not in inside
        )

    def assign(self, role: Node) -> None:
        holders = self.some([*self.everybody, *self.groups], 0.25)
        self.put(Assignment(role_id=role.id, holder=holder, **self.window()) for holder in holders)

    def grant(self, place: Node, *, deny: float = 0.2, **holder: Any) -> None:
        fitting = [code for code, privilege in self.law.privileges.items() if place.type in privilege.binds]
        codes = fitting if fitting and self.chance.random() < 0.95 else list(self.law.privileges)
        code, effect = self.chance.choice(codes), "deny" if self.chance.random() < deny else "allow"
        known = Grant.objects.open().filter(securable=place.id, privilege=code, **holder)
        if not known.exists():
            row = Grant(securable_id=place.id, privilege=code, effect=effect, **holder, **self.window())
            self.put([row])

    def grant_text(self, text: str, **holder: Any) -> None:
        code = self.chance.choice(list(self.law.privileges))
        self.put(
            [Grant(realm_id=self.root.realm_id, pattern=text, privilege=code, **holder, **self.window())]
        )

    def own(self, places: Iterable[Node]) -> None:
        owned = set(Ownership.objects.open().values_list("securable", flat=True))
        for place in places:
            if place.id not in owned:
                owner = self.chance.choice([*self.everybody, *self.groups])
                self.put([Ownership(securable_id=place.id, owner=owner)])


def below(root: Node, **kept: Any) -> list[Node]:
    """What is below it, the oldest first: a world is the same whatever was made before it."""
    keys = list(all_below(root.id).filter(**kept).order_by("securable").values_list("securable", flat=True))
    known = nodes(keys)
    return [known[key] for key in keys]


def a_lake(seed: int, mode: str = "") -> Node:
    """A metalake with nested schemas and everything that stands in one."""
    chance = random.Random(seed)
    drawn = chance.choice(("on", "on", "on", "off", "pass-through"))
    root = a_metalake(mode=mode or drawn)
    for catalog in under(root, "catalog", "shop", "lab"):
        for schema in under(catalog, "schema", "sales", "hr"):
            under(schema, "table", "orders", "refunds", "items")
            under(schema, "view", "top")
            under(schema, "fileset", "scans")
    under(root, "tag", "pii")
    making = Making(chance, root)
    making.together()
    roles = [a_role(root, f"r{number}") for number in range(5)]
    places = [root, *below(root)]
    for role in roles:
        making.assign(role)
        for place in chance.choices(places, k=9):
            making.grant(place, role_id=role.id)
        for code in ("USE_CATALOG", "USE_SCHEMA"):
            if chance.random() < 0.7:
                _way(making, role, root, code)
    making.own(chance.sample(places, 6))
    return root


def _way(making: Making, role: Node, root: Node, code: str) -> None:
    if not Grant.objects.open().filter(role=role.id, securable=root.id, privilege=code).exists():
        making.put([Grant(role_id=role.id, securable_id=root.id, privilege=code)])


def a_herd(seed: int) -> Node:
    """A Herd whose entries name people in any case, and all whose names end alike."""
    chance = random.Random(seed)
    root = herds.a_herd()
    places = herds.namespaces(root, "SALES", "HR", "TAX", "OPS")
    making = Making(chance, root)
    making.together()
    patterns = [people.ensure("pattern", name) for name in ("*@Shop", "*a", "*")]
    for role in below(root, type="role"):
        making.assign(role)
    for place in places:
        for holder in making.some([*making.everybody, *patterns], 0.4):
            making.grant(place, deny=0.0, holder=holder)
    return root


def a_cdap(seed: int) -> Node:
    """A CDAP with some of its entities, and privileges on texts that name these, others, and many at once."""
    chance = random.Random(seed)
    policy = ("3.4", "3.5", "4.3")[seed % 3]
    settings = {"master_user": "ana", "admin_group": "staff"}
    root = cdaps.a_cdap(policy, owner="bo", mode=chance.choice(("on", "on", "off")), **settings)
    for namespace in under(root, "namespace", "sales", "hr", "system"):
        under(namespace, "dataset", "orders", "items.old")
        under(namespace, "stream", "clicks")
        [app] = under(namespace, "application", "app")
        under(app, "program", "worker.etl")
    making = Making(chance, root)
    making.together()
    roles = [cdaps.a_role(root, f"r{number}") for number in range(3)]
    for role in roles:
        making.assign(role)
    for text in TEXTS:
        for holder in making.some([*making.everybody, *making.groups], 0.25):
            making.grant_text(text, holder=holder)
        making.grant_text(text, role_id=chance.choice(roles).id)
    return root


TEXTS = (
    *("instance:cdap", "namespace:sales", "namespace:*", "dataset:sales.orders", "dataset:*.orders"),
    *("dataset:sales.*", "stream:hr.clic??", "application:sales.app", "program:sales.app.worker.etl"),
    *("program:*.app.*", "program:hr.app.worker.*", "kerberosprincipal:ana", "dataset:gone.*"),
)


def tables_of(root: Node, now: datetime | None = None) -> InMemory:
    """What the export would write of a realm as it is now."""
    return rows.of(root, Counter.objects.get().revision, now or timezone.now())


def some_uses(root: Node, seed: int) -> None:
    """What jobs told of the realm: some of its objects, by some people, some of it long ago."""
    chance = random.Random(seed)
    law = dialects.get(root.kind)
    places = list(below(root))
    everybody = [people.ensure("user", name) for name in NAMES]
    reports = [
        ReportedUse(
            chance.choice(everybody),
            place,
            chance.choice(law.actions_for(place.type) or ("read",)),
            chance.random() < 0.8,
            timezone.now() - timedelta(days=chance.choice((1, 20, 80, 150))),
        )
        for place in chance.choices(places, k=20)
    ]
    uses.take(root.realm_id, people.ensure("service", "etl"), "run-1", reports)
