"""Six months of the demo, really done at moments of the past: the record is that of a site that was used.

Each step says how many days ago it was, and the steps stand in the order of time.  What the people of
`world` may do today is the same with and without this past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import psycopg
from django.utils import timezone
from psycopg import sql

from accounts import people
from accounts.models import Principal, User
from authzsite.demo import clock
from authzsite.demo.staff import COLLEAGUES, TEAMS, Colleague
from authzsite.demo.world import BY, REALM
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, of_operator
from policies.events import ACCOUNT_CLOSED, MEMBER_ADDED, ROLE_ASSIGNED, ROLE_CREATED
from policies.models import AccessRequest, Backend, BackendFinding
from policies.record.change import change
from policies.requests import provisioning, submission
from policies.requests.submission import Asking, WantedAction
from policies.services import accounts, grants, members, owners, realm_of, roles
from policies.services.authorities import authorized
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from policies.sync import worker

DAYS = 182
"""So long ago the demo's realm was made."""
Step = Callable[["SixMonths"], None]


@contextmanager
def beginning(now: datetime) -> Iterator[None]:
    """The moment at which the realm is made."""
    with clock.at(now - timedelta(days=DAYS)):
        yield


class SixMonths:
    """What the steps need: who acts, the objects by name, and the shop's own database."""

    def __init__(self, place: Node, backend: Backend, shop_url: str, now: datetime) -> None:
        self.place, self.backend, self.shop_url, self.now = place, backend, shop_url, now
        self.asked: dict[str, AccessRequest] = {}

    def live(self, steps: Iterable[tuple[float, Step]]) -> None:
        """Do everything, the oldest first; a step is so many days ago."""
        happened: list[tuple[float, Callable[[], None]]] = []
        happened += [(days, self._joining(days)) for days in self._days("came")]
        happened += [(days, self._leaving(days)) for days in self._days("left") if days]
        happened += [(days, self._doing(made)) for days, made in steps]
        last = self.now - timedelta(days=DAYS) + timedelta(minutes=10)
        for days, deed in sorted(happened, key=lambda item: -item[0]):
            with clock.at(max(_working_hour(self.now, days), last)):
                deed()
                last = timezone.now() + timedelta(minutes=3)

    def _days(self, which: str) -> set[int]:
        return {getattr(item, which) for item in COLLEAGUES}

    def _doing(self, made: Step) -> Callable[[], None]:
        return lambda: made(self)

    def _joining(self, days: int) -> Callable[[], None]:
        return lambda: self._join([item for item in COLLEAGUES if item.came == days])

    def _leaving(self, days: int) -> Callable[[], None]:
        return lambda: self._leave([item for item in COLLEAGUES if item.left == days])

    def _join(self, some: Iterable[Colleague]) -> None:
        """Those who start on one day: a login in the shop, an account, and their groups, as one change."""
        some = list(some)
        with psycopg.connect(self.shop_url, autocommit=True) as connection:
            for item in some:
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(item.name)))
        with change(MEMBER_ADDED, realm=realm_of(self.place), by=BY, reason="New colleagues"):
            for item in some:
                people.make_account(item.name, display_name=item.display)
                who = self.who(item.name)
                members.add(self.place, who, by=BY, authority=of_operator(BY))
                members.add(self.place, self.group(item.team), by=BY, authority=of_operator(BY))
                for group in ("all_staff", item.team):
                    members.join_group(self.group(group), who, by=BY, authority=of_operator(BY))

    def _leave(self, some: Iterable[Colleague]) -> None:
        for item in some:
            who = self.who(item.name)
            with change(ACCOUNT_CLOSED, realm=None, by=BY, reason=f"{item.display} has left"):
                for group in ("all_staff", item.team):
                    members.leave_group(self.group(group), who, by=BY, authority=of_operator(BY))
                account = User.objects.get(principal=who)
                accounts.close(account, by=BY, authority=of_operator(BY))

    # Who and what

    def who(self, name: str) -> Principal:
        return people.ensure("user", name)

    def who_service(self, name: str) -> Principal:
        return people.ensure("service", name)

    def group(self, name: str) -> Principal:
        return people.ensure("group", name, display_name=TEAMS.get(name, ""))

    def by(self, name: str) -> Actor:
        return Actor(self.who(name), "console")

    def on(self, text: str) -> Node:
        """`table shop.sales.orders`.  Raises LookupError."""
        type_, _, name = text.partition(" ")
        node = find(ObjectRef(type_, REALM, tuple(name.split("."))))
        if node is None:
            raise LookupError(text)
        return node

    # Deeds

    def grant(
        self,
        text: str,
        holder: Principal,
        *codes: str,
        by: str = "olivia",
        reason: str = "",
        days: float = 0,
        begins: float = 0,
    ) -> None:
        now = timezone.now()
        wish = GrantRequest(
            self.on(text),
            (holder,),
            codes,
            valid_from=now + timedelta(days=begins) if begins else None,
            valid_until=now + timedelta(days=days) if days else None,
        )
        grants.add(wish, by=self.by(by), reason=reason)

    def revoke(self, text: str, holder: Principal, *codes: str, reason: str) -> None:
        grants.remove(self.on(text), (holder,), codes, by=self.by("olivia"), reason=reason)

    def set_owner(self, text: str, name: str, *, by: str) -> None:
        owners.hand_over([self.on(text)], self.who(name), by=self.by(by))

    def give_role(self, name: str, holder: Principal, *, reason: str) -> None:
        role, by = self.on(f"role {name}"), self.by("marek")
        with authorized(
            ROLE_ASSIGNED, role, roles.operation(role, "assign"), by=by, reason=reason
        ) as authority:
            roles.assign(role, holder, by=by, authority=authority)

    def make_role(self, name: str, *privileges: tuple[str, tuple[str, ...]], to: Principal) -> Node:
        by = self.by("marek")
        with authorized(ROLE_CREATED, self.place, roles.operation(self.place, "create"), by=by) as authority:
            role = roles.create(self.place, name, by=by, authority=authority, owner=self.who("marek"))
            for text, codes in privileges:
                wanted = [Privilege(code) for code in codes]
                roles.add_privileges(role, self.on(text), wanted, by=by, authority=authority)
            roles.assign(role, to, by=by, authority=authority)
        return role

    def ask(self, name: str, text: str, action: str, reason: str, lasts: str = "") -> AccessRequest:
        node = self.on(text)
        wanted = (WantedAction(node.type, node.ref.id, action),)
        asking = Asking(wanted, self.who(name), reason=reason, lasts=lasts)
        self.asked[name] = submission.ask(asking, by=self.by(name))
        return self.asked[name]

    def in_shop(self, statement: str) -> None:
        """What somebody does by hand in the shop's database, past the console."""
        with psycopg.connect(self.shop_url, autocommit=True) as connection:
            connection.execute("SET ROLE shop_owner")
            connection.execute(statement.encode())

    def finding(self, object_text: str, account: str) -> BackendFinding | None:
        rows = BackendFinding.objects.filter(
            backend=self.backend, kind="foreign", securable=self.on(object_text).id, holder=account
        )
        return rows.first()

    def compare(self) -> None:
        """Read the shop's database, apply what was decided, and read again."""
        worker.now(self.backend)
        self.backend.refresh_from_db()
        provisioning.look(self.backend.pk)


def _working_hour(now: datetime, days_ago: float) -> datetime:
    """An hour of that day at which people work; of the last day the very moment."""
    moment = now - timedelta(days=days_ago)
    if days_ago < 1:
        return moment
    return moment.replace(hour=7 + moment.day % 8, minute=(moment.day * 7) % 60)
