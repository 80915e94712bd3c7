"""A metalake of a Gravitino server, over its REST API: roles and denials as it knows them itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lakewarden.backends.base import (
    Backend,
    Finding,
    ObjectKind,
    Observation,
    Outcome,
    Plan,
    Source,
)
from lakewarden.backends.console import Directory, Peers, Record
from lakewarden.backends.kinds import Field, Kind
from lakewarden.backends.network import Network
from lakewarden.backends.steps import in_turn
from lakewarden.law.dialects.gravitino.privileges import PRIVILEGES
from policies.sync.backends.gravitino.apply import Writer, translated
from policies.sync.backends.gravitino.check import check
from policies.sync.backends.gravitino.names import HERE, Marks, tag
from policies.sync.backends.gravitino.observe import Client, described, observe, position
from policies.sync.backends.gravitino.source import metalake
from policies.sync.backends.gravitino.wanted import admitted, wanted
from policies.sync.backends.shared.peering import must_not_lead_back
from policies.sync.backends.shared.rest import (
    REACHED,
    SIGNS_IN,
    Address,
    Refused,
    Rest,
    parts_of,
    signing_in,
    url_of,
)

PORT = 8090
OPTIONS = frozenset({"ca", "groups", "oauth", "scope", "user"})
_TYPES = ("metalake", "catalog", "schema", "table", "view", "topic", "fileset", "model", "function")


class Gravitino:
    """One metalake; `admits` names those who would be let in there with their first right."""

    def __init__(
        self,
        client: Client,
        record: Record,
        admits: Callable[[], Iterable[str]],
        *,
        native_groups: bool = False,
    ) -> None:
        self.client, self.native_groups = client, native_groups
        self._record, self._admits, self._writer = record, admits, Writer(client, record)

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The privilege itself where it may be given; () for what is administered here alone."""
        names = PRIVILEGES.get(privilege)
        return (privilege,) if names and kind in names.binds and privilege not in HERE else ()

    def source(self) -> Source:
        """The metalake, known by when and by whom it was made where the server has no number."""
        try:
            return metalake(self.client)
        except Refused as refusal:
            raise translated(refusal) from None

    def observe(self) -> Observation:
        """Everything that matters, call by call.  Raises errors of `lakewarden.backends.errors`."""
        client = self.client
        must_not_lead_back(
            client.rest, client.peers, self._record.mark, tag(client.marks.realm), tag(client.name)
        )
        try:
            return observe(client, self._record, frozenset(self._admits()))
        except Refused as refusal:
            raise translated(refusal) from None

    def position(self) -> str:
        """Where it stands, without a call for each object: owners and objects are left to whole looks."""
        try:
            return position(self.client)
        except Refused as refusal:
            raise translated(refusal) from None

    def describe(self, seen: Observation) -> Observation:
        """What was seen, with comments and columns: a call for each object, made to bring objects here."""
        try:
            return replace(
                seen, objects=tuple(described(self.client, source_object) for source_object in seen.objects)
            )
        except Refused as refusal:
            raise translated(refusal) from None

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do each step and say what became of it."""
        return in_turn(plan.steps, self._writer.do)

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        return check(self.client)

    def close(self) -> None:
        """Let go of the connection; the next call makes a new one."""
        self.client.rest.close()


def address(url: str) -> Address:
    """Raises Misconfigured."""
    return Address.read(url, "gravitino", port=PORT, options=OPTIONS, path=1)


def open(
    url: str, *, realm: str, mark: str, network: Network, record: Record, peers: Peers, directory: Directory
) -> Backend:
    """The metalake behind `gravitino+https://user:password@host:port/metalake`, called when first used."""
    at = address(url)
    native = at.options.get("groups") == "native"
    rest = Rest(
        at,
        signing_in(at, network),
        network=network,
        accept="application/vnd.gravitino.v1+json",
        explain=lambda body, plain: _error_text(body),
    )
    client = Client(rest, at.path[0], Marks(realm, mark), peers, me=at.options.get("user") or at.user)
    return Gravitino(client, record, lambda: admitted(directory, native_groups=native), native_groups=native)


def _error_text(body: object) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else ""


KIND = Kind(
    "gravitino",
    "Apache Gravitino",
    open,
    ("gravitino+https://", "gravitino+http://"),
    "gravitino+https://lakewarden:secret@gravitino.example.org:8090/lake",
    needs=("network", "record", "peers", "directory"),
    whole_realm=True,
    realm_kinds=("gravitino",),
    objects={type_: type_ for type_ in _TYPES},
    carried={
        type_: tuple(
            ("", code)
            for code, privilege in PRIVILEGES.items()
            if type_ in privilege.binds and code not in HERE
        )
        for type_ in _TYPES
    },
    wanted=wanted,
    fields=(
        Field("database", "Metalake", "Its name in the backend."),
        SIGNS_IN,
        REACHED,
        Field(
            "groups",
            "Groups",
            "Groups are the same on both sides only when both take them from one directory.",
            required=False,
            choices=(("", "people get what their groups have"), ("native", "the groups get it themselves")),
        ),
    ),
    url=lambda values: url_of("gravitino", values, "groups"),
    parts=lambda url: parts_of(address(url)),
    discovers={type_: type_ for type_ in _TYPES if type_ != "metalake"},
)
