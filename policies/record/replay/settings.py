"""What is decided and no fact: duties, tokens, accounts, settings, what is switched off.

The last event about each says how it stands.  Memory grows with what is so now, not with the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.hashers import is_password_usable
from django.db.models import F

from accounts.marks import password_mark, token_mark
from accounts.models import Principal, Token, User
from accounts.people import django_group_name
from catalog.models import Detail, Realm, Securable
from catalog.models.securables import deciding, is_detail_sealed
from policies import events
from policies.models import (
    Backend,
    Event,
    ForeignOrder,
    GroupDuty,
    Review,
    ReviewDesk,
    ReviewRow,
    ReviewSeat,
    Substitute,
    UserDuty,
    review_seals,
)
from policies.record.replay.differences import NOTHING, Difference, Differences

Duty = tuple[int, str, str]
"""The object's number, the duty, the pseudonym of who has it."""
USED_OR_NOT = ("metalake", "catalog")


@dataclass
class _Token:
    """What the record says of a token; events of before have no `mark`, `expires` and `addresses`."""

    scopes: list[str]
    revision: int
    mark: str = ""
    expires: str | None = ""
    addresses: list[str] = field(default_factory=list)
    revoked: bool = False


class KeptReplay:
    """Takes every event of these kinds in order; `differences` then compares."""

    def __init__(self) -> None:
        self.duties: dict[Duty, int] = {}
        self.tokens: dict[tuple[str, str], _Token] = {}
        self.closed: dict[str, bool] = {}
        self.passwords: dict[str, tuple[str | None, int]] = {}
        self.bound: dict[int, str] = {}
        self.got_one: set[str] = set()
        self.settings: dict[tuple[int, str], tuple[str, int]] = {}
        self.realms: dict[int, str] = {}
        self.roots: dict[int, int] = {}
        self.switched: dict[int, tuple[bool, int]] = {}
        self.erased: set[str] = set()
        self.connected: dict[int, tuple[str, int]] = {}
        self._left: tuple[int, str] = (0, "")

    def take(self, event: Event) -> None:
        if take := TAKES.get(event.kind):
            take(self, event)

    def compare(self, found: Differences) -> None:
        """Hold all of it against the tables."""
        for differences in (
            _duties,
            _tokens,
            _accounts,
            _principals,
            _realms,
            _switched,
            _details,
            _connections,
            _reviews,
            _seats,
        ):
            for difference in differences(self):
                found.add(difference)

    def _duty(self, event: Event) -> None:
        key = (event.object_key or 0, event.data["duty"], event.people[0])
        if event.kind == events.DUTY_GIVEN:
            self.duties[key] = event.change_id
        else:
            self.duties.pop(key, None)

    def _token(self, event: Event) -> None:
        key, data = (event.data["prefix"], event.people[0]), event.data
        if event.kind == events.TOKEN_CREATED:
            self.tokens[key] = _Token(
                data.get("scopes", []),
                event.change_id,
                data.get("mark", ""),
                data.get("expires", ""),
                data.get("addresses", []),
            )
        elif key in self.tokens and event.kind == events.TOKEN_ROTATED:
            self.tokens[key].expires = data["until"]
        elif key in self.tokens:
            self.tokens[key].revoked = True

    def _account(self, event: Event) -> None:
        person = event.people[0] if event.people else ""
        if event.kind == events.ACCOUNT_UNBOUND:
            self._left = event.change_id, person
        elif event.kind == events.ACCOUNT_BOUND:
            if "account" in event.data:
                self.bound[event.data["account"]] = person
            else:  # of before: somebody got an account, which one is not told
                self.got_one.add(person)
            if self._left[0] == event.change_id:
                # an account goes to another person with its password, its duties, and whether it is disabled
                before = self._left[1]
                if before in self.closed:
                    self.closed[person] = self.closed.pop(before)
                if before in self.passwords:
                    self.passwords[person] = self.passwords.pop(before)
                for key in [key for key in self.duties if key[2] == before]:
                    self.duties[(*key[:2], person)] = self.duties.pop(key)
        else:
            self.closed[person] = event.kind == events.ACCOUNT_CLOSED

    def _password(self, event: Event) -> None:
        if event.people:
            mark = "" if event.kind == events.PASSWORD_LINK else event.data.get("mark")
            self.passwords[event.people[0]] = mark, event.change_id

    def _realm(self, event: Event) -> None:
        root = event.object_key or 0
        if event.kind == events.REALM_CREATED:
            self.realms[root] = event.data["kind"]
            for name, value in event.data.get("settings", {}).items():
                self.settings[root, name] = value, event.change_id
        else:
            self.settings[root, event.data["setting"]] = event.data["value"], event.change_id

    def _mode(self, event: Event) -> None:
        if event.object_key is not None and "state" in event.data:
            self.roots[event.object_key] = event.data["state"]["realm_id"]

    def _switch(self, event: Event) -> None:
        if event.object_key is not None and event.object_type in USED_OR_NOT:
            self.switched[event.object_key] = event.data["how"] == "enabled", event.change_id

    def _connect(self, event: Event) -> None:
        if event.object_key is not None and event.data.get("policy"):
            self.connected[event.object_key] = event.data["policy"], event.change_id

    def _erase(self, event: Event) -> None:
        person = event.people[0]
        self.erased.add(person)
        self.tokens = {key: token for key, token in self.tokens.items() if key[1] != person}
        self.passwords.pop(person, None)
        self.closed.pop(person, None)


TAKES: Mapping[str, Callable[[KeptReplay, Event], None]] = {
    events.DUTY_GIVEN: KeptReplay._duty,
    events.DUTY_TAKEN: KeptReplay._duty,
    events.TOKEN_CREATED: KeptReplay._token,
    events.TOKEN_ROTATED: KeptReplay._token,
    events.TOKEN_REVOKED: KeptReplay._token,
    events.ACCOUNT_BOUND: KeptReplay._account,
    events.ACCOUNT_UNBOUND: KeptReplay._account,
    events.ACCOUNT_CLOSED: KeptReplay._account,
    events.ACCOUNT_OPENED: KeptReplay._account,
    events.PASSWORD_LINK: KeptReplay._password,
    events.PASSWORD_SET: KeptReplay._password,
    events.REALM_CREATED: KeptReplay._realm,
    events.REALM_SET: KeptReplay._realm,
    events.MODE_SET: KeptReplay._mode,
    events.OBJECT_SWITCHED: KeptReplay._switch,
    events.PERSON_ERASED: KeptReplay._erase,
    events.BACKEND_CONNECTED: KeptReplay._connect,
    events.BACKEND_POLICY: KeptReplay._connect,
}
"""What each kind of event says; every other kind says nothing here."""


def _duties(replayed: KeptReplay) -> Iterator[Difference]:
    left = dict(replayed.duties)
    for key, what, table in given_duties():
        if left.pop(key, None) is None:
            yield Difference(what, NOTHING, f"duty {key[1]} on object {key[0]} for {key[2]}", table)
    for (on, duty, person), revision in left.items():
        what = f"duty {duty} on object {on}"
        yield Difference(
            what, f"that {person} has it since revision {revision}", "no such row", UserDuty._meta.db_table
        )


def given_duties() -> Iterator[tuple[Duty, str, str]]:
    """Every duty there is: what and who, its row, its table."""
    own = UserDuty.objects.annotate(duty=F("permission__codename"), who=F("user__principal__pseudonym"))
    for row in own.order_by("pk").iterator(chunk_size=2000):
        yield (row.content_object_id, row.duty, row.who or ""), f"userduty {row.pk}", UserDuty._meta.db_table
    groups = Principal.objects.filter(kind=Principal.Kind.GROUP)
    named = {django_group_name(name): who for name, who in groups.values_list("name", "pseudonym")}
    ours = GroupDuty.objects.annotate(duty=F("permission__codename"), of=F("group__name"))
    for row in ours.order_by("pk").iterator(chunk_size=2000):
        key = (row.content_object_id, row.duty, named.get(row.of, ""))
        yield key, f"groupduty {row.pk}", GroupDuty._meta.db_table


def _tokens(replayed: KeptReplay) -> Iterator[Difference]:
    """Those of people and services; what a running job holds is made for hours by a change of its own."""
    table = Token._meta.db_table
    rows = Token.objects.filter(run="").select_related("principal").order_by("pk")
    for row in rows.iterator(chunk_size=2000):
        token = replayed.tokens.get((row.prefix, row.principal.pseudonym))
        what = f"token {row.pk}"
        if token is None:
            yield Difference(what, NOTHING, f"that {row.principal.pseudonym} holds {row.prefix}…", table)
            continue
        if token.revoked and row.revoked is None:
            yield Difference(what, "that it was revoked", "that it is good", table)
        if token.mark and token.mark != token_mark(row):
            yield Difference(what, f"that it was made at revision {token.revision}", "another token", table)
        if sorted(token.scopes) != sorted(row.scopes):
            yield Difference(what, f"the scopes {token.scopes}", f"the scopes {row.scopes}", table)
        if sorted(token.addresses) != sorted(row.addresses):
            yield Difference(
                what, f"the addresses {token.addresses}", f"the addresses {row.addresses}", table
            )
        expires = datetime.fromisoformat(token.expires) if token.expires else None
        if token.expires != "" and expires != row.expires:
            yield Difference(what, f"an end at {token.expires}", f"an end at {row.expires}", table)


def _accounts(replayed: KeptReplay) -> Iterator[Difference]:
    table = User._meta.db_table
    for row in User.objects.select_related("principal").order_by("pk").iterator(chunk_size=2000):
        what, person = f"account {row.pk}", row.principal
        who = person.pseudonym if person else ""
        by_record = replayed.bound.get(row.pk)
        if by_record is not None and by_record != who:
            yield Difference(what, f"that it is {by_record}'s", f"that it is {who or 'nobody'}'s", table)
        elif by_record is None and person is not None and not _is_own(row, person, replayed):
            yield Difference(what, f"nothing that binds it to {who}", f"that it is {who}'s", table)
        if who in replayed.closed and replayed.closed[who] == row.is_active:
            states = ("disabled", "enabled") if replayed.closed[who] else ("enabled", "disabled")
            yield Difference(what, f"that it is {states[0]}", f"that it is {states[1]}", table)
        yield from _password(replayed, row, who)
        if row.is_superuser or row.is_staff:
            yield Difference(what, "nothing of rights over the site", "is_superuser or is_staff", table)


def _is_own(row: User, person: Principal, replayed: KeptReplay) -> bool:
    """Whether the account bears the name of whose it is, as those do that nobody bound."""
    own = f"service:{person.pk}" if person.kind == Principal.Kind.SERVICE else person.name
    return row.username == own or person.pseudonym in replayed.got_one


def _password(replayed: KeptReplay, row: User, who: str) -> Iterator[Difference]:
    what, table = f"account {row.pk}", User._meta.db_table
    if who not in replayed.passwords:
        if row.password and is_password_usable(row.password):
            yield Difference(what, "nothing of a password", "a password", table)
        return
    mark, revision = replayed.passwords[who]
    if mark == "" and row.password and is_password_usable(row.password):
        yield Difference(what, f"that it lost its password at revision {revision}", "a password", table)
    elif mark and mark != password_mark(row.password):
        yield Difference(what, f"the password set at revision {revision}", "another password", table)


def _principals(replayed: KeptReplay) -> Iterator[Difference]:
    table = Principal._meta.db_table
    for row in Principal.objects.filter(erased=True).order_by("pk").iterator(chunk_size=2000):
        if row.pseudonym not in replayed.erased:
            yield Difference(
                f"principal {row.pk}", "nothing of an erasure", "that the person was erased", table
            )
    for row in Principal.objects.order_by("pk").iterator(chunk_size=2000):
        if not row.is_sealed:
            says = f"the name that {row.kind} {row.pseudonym} has"
            yield Difference(f"principal {row.pk}", "another name, or none", says, table)
    for row in Principal.objects.filter(pseudonym__in=replayed.erased, erased=False):
        yield Difference(f"principal {row.pk}", "that the person was erased", "a name", table)


def _realms(replayed: KeptReplay) -> Iterator[Difference]:
    table = Realm._meta.db_table
    roots = dict(Securable.objects.filter(pk__in=replayed.realms).values_list("pk", "realm_id"))
    rows = Realm.objects.in_bulk()
    for root, number in replayed.roots.items():
        if roots.get(root, number) != number:
            claim = f"the realm {roots[root]}"
            yield Difference(f"object {root}", f"the realm {number}", claim, Securable._meta.db_table)
    for root, kind in replayed.realms.items():
        row = rows.pop(roots.get(root, 0), None)
        if row is None:
            yield Difference(f"the realm of object {root}", f"the kind {kind}", "no such row", table)
        elif row.kind != kind:
            yield Difference(f"realm {row.pk}", f"the kind {kind}", f"the kind {row.kind}", table)
        else:
            yield from _settings(replayed, root, row)
    for number in rows:
        yield Difference(f"realm {number}", NOTHING, "a realm", table)
    for row in Realm.objects.order_by("pk"):
        if not row.is_sealed:
            says = f"the kind {row.kind} and {len(row.settings)} settings"
            yield Difference(f"realm {row.pk}", "other settings, or the same by a change", says, table)


def _settings(replayed: KeptReplay, root: int, row: Realm) -> Iterator[Difference]:
    for (of, name), (value, revision) in replayed.settings.items():
        kept_value = row.settings.get(name, "")
        if of == root and kept_value != value:
            record = f"{name} {value or 'none'} since revision {revision}"
            yield Difference(
                f"realm {row.pk}", record, f"{name} {kept_value or 'none'}", Realm._meta.db_table
            )


def _switched(replayed: KeptReplay) -> Iterator[Difference]:
    off = set(
        Detail.objects.filter(content__in_use=False, securable__type__in=USED_OR_NOT).values_list(
            "pk", flat=True
        )
    )
    keys = {key for key, (on, _) in replayed.switched.items() if not on}
    table = Detail._meta.db_table
    for key in sorted(off ^ keys):
        words = ("that it is in use", "that it is not in use")
        yield Difference(f"object {key}", words[key in keys], words[key in off], table)


def _details(replayed: KeptReplay) -> Iterator[Difference]:
    """Where data lies and whom programs run as, by their seals: the record does not tell it."""
    table = Detail._meta.db_table
    rows = Detail.objects.order_by("pk").values_list("pk", "edition", "seal", "properties", "content")
    for pk, edition, seal, *texts in rows.iterator(chunk_size=2000):
        decides = deciding(*texts)
        if not is_detail_sealed(pk, edition, decides, seal):
            says = json.dumps([each for each in decides if each is not None])
            yield Difference(f"detail {pk}", "that something else, or nothing, was said of it", says, table)


def _connections(replayed: KeptReplay) -> Iterator[Difference]:
    """Connections, and orders to take foreign rights away: by their seals, and by the record."""
    table = Backend._meta.db_table
    for row in Backend.objects.order_by("pk").iterator(chunk_size=2000):
        what = f"connection {row.pk}"
        connection = replayed.connected.get(row.catalog_id)
        if not row.is_sealed:
            says = f"that object {row.catalog_id} is governed at {row.place}, set to {row.policy}"
            yield Difference(what, "another connection, or none", says, table)
        elif connection is not None and connection[0] not in (row.policy, Backend.Policy(row.policy).label):
            record = f"that it is set to {connection[0]} since revision {connection[1]}"
            yield Difference(what, record, f"that it is set to {row.policy}", table)
    table = ForeignOrder._meta.db_table
    for order in ForeignOrder.objects.order_by("pk").iterator(chunk_size=2000):
        if not order.is_sealed:
            yield Difference(f"order {order.pk}", "another order, or none", f"to {order}", table)


def _reviews(known: KeptReplay) -> Iterator[Difference]:
    """Reviews that are not over, with what is decided in them, by their seals."""
    for review in Review.objects.exclude(state__in=review_seals.OVER).order_by("pk"):
        if not review.is_sealed:
            says = f"that principal {review.starter_id} started it, silence meaning {review.silence}"
            yield Difference(f"review {review.pk}", "another review, or none", says, Review._meta.db_table)
    for row in review_seals.unfinished():
        if not review_seals.is_row_sealed(row):
            says = f"{row.choice or 'nothing'} decided about {row.what or row.role_name}"
            what = f"row {row.number} of review {row.review_id}"
            yield Difference(what, "another row, or none", says, ReviewRow._meta.db_table)
        elif row.desk_id and not review_seals.is_on_its_desk(row):
            what = f"row {row.number} of review {row.review_id}"
            yield Difference(what, "another desk", f"desk {row.desk_id}", ReviewRow._meta.db_table)


def _seats(known: KeptReplay) -> Iterator[Difference]:
    """Who is asked in reviews that are not over, and who decides requests for others, by their seals."""
    over = {"review__state__in": review_seals.OVER}
    queries = (
        ReviewDesk.objects.exclude(**over),
        ReviewSeat.objects.exclude(**{f"desk__{key}": value for key, value in over.items()}),
        Substitute.objects.filter(ended_at__isnull=True),
    )
    for rows in queries:
        name, table = rows.model._meta.model_name, rows.model._meta.db_table
        for row in rows.order_by("pk").iterator(chunk_size=2000):
            if not row.is_sealed:
                columns = ", ".join(f"{column} {getattr(row, column)}" for column in row.SEALED)
                yield Difference(f"{name} {row.pk}", "another, or none", columns, table)
