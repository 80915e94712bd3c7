"""One call on its way: who calls, what about, may they, is it in use, is it there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

from django.http import QueryDict

from accounts.models import Principal
from authzsite.api.authentication import Caller
from authzsite.api.gravitino import path_objects
from authzsite.api.gravitino.bodies import Reader
from authzsite.api.gravitino.errors import (
    SWITCHED_OFF,
    Problem,
    illegal,
    malformed,
    no_such,
    not_in_use,
    unsupported,
)
from authzsite.api.gravitino.path_objects import Place
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.engine import NOT_A_MEMBER, REALM_OFF, Decision
from lakewarden.law.facts import Lineage, Slice
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, Authority, require
from policies.decisions import active_roles, ask, slices
from policies.errors import Refused
from policies.services import object_details

VIA = "gravitino"
OBJECT_TYPES = ("catalog", "schema", *path_objects.DATA[2:], *path_objects.ASIDE, *path_objects.PEOPLE)


class Refusal(Problem):
    """The law says no; the record keeps to what."""

    def __init__(self, message: str, operation: str, node: Node | None, name: str):
        super().__init__(403, 1008, "ForbiddenException", message)
        self.operation, self.node, self.name = operation, node, name


Handler = Callable[["Call"], Mapping[str, Any] | Callable[[], Mapping[str, Any]]]
"""What is done; an answer that tells who changed what, and when, is made once the change is committed."""


@dataclass(frozen=True)
class Route:
    """One call.

    `weigh` decides instead of the usual question about the object in the path.  `idle` names what may be
    disabled while the call still works.  `absent_ok` means that the last object in the path may be absent.
    `noun` is the type that errors speak of, `illegal` and `taken` what an
    Invalid and an AlreadyExists of ours are called.  `site` marks calls
    that are about no metalake.  `types` names the types of objects it is for, where it is
    not for all: another one in the path is an illegal argument before anything is asked.
    """

    method: str
    path: str
    operation: str
    handle: Handler
    body: Reader | None = None
    optional_body: bool = False
    weigh: Callable[[Call], None] | None = None
    idle: tuple[str, ...] = ()
    absent_ok: bool = False
    noun: str = ""
    illegal: str = "IllegalArgumentException"
    taken: str = ""
    reads: bool = False
    site: bool = False
    types: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.reads

    @property
    def about(self) -> str:
        return self.noun or self.operation.partition(".")[0].lower()

    @property
    def words(self) -> tuple[str, str, str]:
        """What errors of ours are called in this call."""
        return self.about, self.illegal, self.taken

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


@dataclass
class Call:
    """A call as it is worked on.  `names` come from the path, `body` is set once it has been read."""

    caller: Caller
    route: Route
    names: Mapping[str, str]
    query: QueryDict
    raw: Any = None
    active: str | None = None
    request_id: str = ""
    now: datetime = field(default_factory=lambda: _now())
    body: Any = None
    decision: Decision | None = None
    _details: dict[int, Detail] = field(default_factory=dict)

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    @property
    def actor(self) -> Actor:
        return Actor(self.principal, VIA, self.request_id)

    @property
    def authority(self) -> Authority:
        """What the decision on this call gives; a call that nothing was decided on has none."""
        if self.decision is None:
            raise TypeError("nothing was decided")
        return require(self.decision, self.actor, otherwise="")

    @property
    def by(self) -> dict[str, Any]:
        """The actor and the authority, as services want them."""
        return {"by": self.actor, "authority": self.authority}

    def asks(self, name: str) -> bool:
        """A truth value in the query, in any case; absent means no."""
        return self.query.get(name, "").lower() == "true"

    # what it is about

    @cached_property
    def root(self) -> Node:
        """The metalake.  One that is not there is refused just as one that does not admit the caller."""
        name = self.names["metalake"]
        root = find(ObjectRef("metalake", name))
        if root is None:
            raise Refusal(_no_member(self.principal, name), self.route.operation, None, name)
        return root

    @cached_property
    def slice(self) -> Slice:
        """All that the caller may in this metalake."""
        return self._active(slices.current(self.principal, self.root, now=self.now))

    def slice_on(self, *lineages: Lineage) -> Slice:
        """What the caller may do to some objects.  A writer's own slice is stale after each write."""
        if not self.route.writes:
            return self.slice
        ids = {level.key for lineage in lineages for level in lineage if isinstance(level.key, int)}
        return self._active(slices.about(self.principal, self.root, ids, now=self.now))

    def _active(self, active: Slice) -> Slice:
        if self.active is None:
            return active
        try:
            return active_roles.narrowed(active, self.active, self.root)
        except Refused as error:
            raise Refusal(str(error), self.route.operation, self.root, "") from None

    @cached_property
    def place(self) -> Place:
        """The object that the path names."""
        if "full_name" in self.names:
            self.weigh("Metalake.loadMetalake", self.root)
            return path_objects.of_object(self.root, self.names["type"], self.names["full_name"])
        types = [name for name in self.names if name in OBJECT_TYPES]
        return path_objects.place(self.root, types, [self.names[type] for type in types])

    @property
    def node(self) -> Node:
        return self.place.node

    # the order of checks

    def admit(self) -> None:
        """Rights, then what is disabled, then what is not there, then the body.  Raises Problem.

        What the call is not made for at all comes before everything: there is no right to ask about.
        """
        if self.route.types and self.names["type"].lower() not in self.route.types:
            raise illegal(f"Privileges cannot be granted on the type {self.names['type']}")
        if self.route.weigh is not None:
            self.route.weigh(self)
        elif not self.route.site:
            self.decide(self.route.operation, self.node)
        if not self.route.site:
            self.check_in_use()
            self.look_up()
        if self.route.body is not None:
            self.body = self.read_body()

    def read_body(self) -> Any:
        if self.route.body is None or (self.raw is None and self.route.optional_body):
            return None
        if self.raw is None or isinstance(self.raw, Problem):
            raise self.raw or malformed("the body is empty")
        return self.route.body(self.raw)

    def again(self) -> Call:
        """The same call, to be decided anew under the writers' lock."""
        return Call(
            self.caller, self.route, self.names, self.query, self.raw, self.active, self.request_id, self.now
        )

    def decide(self, operation: str, node: Node, also: Lineage = ()) -> None:
        """Ask the law and keep its yes as this call's authority.  Raises Problem."""
        self.decision = self.weigh(operation, node, also)

    def weigh(self, operation: str, node: Node, also: Lineage = ()) -> Decision:
        slice_ = self.slice_on(node.levels, also)
        decision = ask.answer(slice_, operation, node, now=self.now, also=also).decision
        if not decision:
            self.refuse(decision, node)
        return decision

    def may(self, operation: str, node: Node) -> bool:
        return bool(ask.answer(self.slice, operation, node, now=self.now))

    def refuse(self, found: Decision, node: Node) -> NoReturn:
        visible = node if node.id != path_objects.ABSENT else None
        name = "/".join((node.realm, ".".join(node.names[1:])))
        if found.reason == REALM_OFF:
            raise unsupported(SWITCHED_OFF)
        if found.reason == NOT_A_MEMBER:
            message = _no_member(self.principal, node.realm)
            raise Refusal(message, self.route.operation, self.root, "")
        verb = found.operation.rpartition(".")[2]
        message = (
            f"User '{self.principal.name}' is not authorized to perform operation '{verb}' "
            f"on metadata '{node.name}'"
        )
        raise Refusal(message, found.operation, visible, name)

    def check_in_use(self) -> None:
        """Raises Problem 409 when the metalake or catalog that the call is about is disabled."""
        for level, name in zip(self.node.levels, self.node.names, strict=True):
            guarded = level.type in ("metalake", "catalog") and level.type not in self.route.idle
            if guarded and not object_details.in_use(self.detail_of(level.key)):
                raise not_in_use(level.type, name)

    def look_up(self) -> None:
        missing = self.place.missing
        if missing is None:
            return
        at_the_end = missing == (self.node.levels[-1].type, self.node.name)
        if not (self.route.absent_ok and at_the_end):
            raise no_such("metadata_object" if "full_name" in self.names else missing[0], missing[1])

    @property
    def absent(self) -> bool:
        return self.place.missing is not None

    # what is said about it

    def detail_of(self, key: Any) -> Detail | None:
        """What is said about an object on the way to this one or about itself.  One query for all."""
        if not self._details:
            ids = [level.key for level in self.node.levels if isinstance(level.key, int)]
            self._details = {row.securable_id: row for row in Detail.objects.filter(securable__in=ids)}
        return self._details.get(key)

    @property
    def detail(self) -> Detail:
        """What is said about the object itself."""
        return self.detail_of(self.node.id) or Detail(securable_id=self.node.id)

    @property
    def catalog(self) -> Detail:
        """What is said about the catalog that the object stands in."""
        key = next((level.key for level in self.node.levels if level.type == "catalog"), None)
        return self.detail_of(key) or Detail()

    @property
    def connected(self) -> bool:
        return bool(self.catalog.properties.get("connected"))

    def refuse_connected(self) -> None:
        """The structure of a connected catalog is its source's.  Raises Problem."""
        if self.connected:
            raise unsupported(
                "This catalog is connected: what is in it is read from its source, and is changed there"
            )

    def need_kind(self, *kinds: str) -> None:
        """Raises Problem where the catalog is not of one of these kinds."""
        kind = self.catalog.properties.get("type", "relational")
        if kind not in kinds:
            raise unsupported(f"A {kind} catalog has no such objects")


def _no_member(principal: Principal, metalake: str) -> str:
    return (
        f"Current user {principal.name} doesn't exist in the metalake {metalake}, "
        "you should add the user to the metalake first"
    )


def _now() -> datetime:
    from django.utils import timezone

    return timezone.now()
