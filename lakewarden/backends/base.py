"""What a backend is: one file that can observe, plan, apply and check.  No models in here, only values.

Objects are named by their path below the catalog: `("sales",)` a schema, `("sales", "orders")` a table, `()`
the catalog itself.  Rights are the backend's own words (`SELECT`, `USAGE`, `CONNECT`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

ObjectKind = str
"""What an object is there, in the backend's word: catalog, schema, table, view, folder, topic and so on.

`sequence` and `role` are only found (a left-over right, a membership), never desired.
"""


DENY = "DENY "
"""How the word of a right begins that takes another one away, where the other side knows denials."""


@dataclass(frozen=True, order=True)
class Right:
    """One right of the backend on one of its objects."""

    kind: ObjectKind
    path: tuple[str, ...]
    right: str


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True)
class FoundObject:
    """An object as the source has it; `id` is the source's own and survives a rename.

    `part_of` are the paths of objects that show its rows too, such as a partitioned table.
    """

    kind: ObjectKind
    path: tuple[str, ...]
    id: str
    owner: str = ""
    comment: str = ""
    columns: tuple[Column, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)
    part_of: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Foreign:
    """A right that somebody else gave in the backend; shown, never touched.

    A membership is `Right("role", (role,), "MEMBER")`.
    """

    right: Right
    holder: str
    grantor: str = ""


@dataclass(frozen=True)
class Order:
    """An owner's decision that a foreign right is to go; `replaced` once our own roles give the same."""

    foreign: Foreign
    replaced: bool = False


@dataclass(frozen=True)
class Bypass:
    """Power that no grant of ours can limit: a superuser, an owner, PUBLIC, a predefined role."""

    holder: str
    what: str
    path: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Observation:
    """What the backend has, read in one consistent look.

    `roles` maps each managed role's key to its rights, `members` each managed role's key to its people.
    `complete` is false when something could not be read: then nothing is ever removed.
    `amiss_rights` and `amiss_members` are those of `roles` and `members` that are there, but not as we make
    them (a missing sequence, wrong options): given again when wanted, taken when not.
    `groups` maps the roles of others to their members; `unknown` names what looks like ours and is not.
    `in_force` says in words where what was read is in force by now, when others enforce it than keep it.
    `barred` are those who own or gave something and in whose name our account may not act.
    A backend that is expensive to read has a method `position` too, which gives in few calls what `position`
    here would be: while that stays the same nobody has changed who may do what, as far as it can tell.
    """

    complete: bool
    position: str
    objects: tuple[FoundObject, ...]
    people: frozenset[str]
    roles: Mapping[str, frozenset[Right]]
    members: Mapping[str, frozenset[str]]
    foreign: tuple[Foreign, ...] = ()
    bypasses: tuple[Bypass, ...] = ()
    unknown: tuple[str, ...] = ()
    amiss_rights: Mapping[str, frozenset[Right]] = field(default_factory=dict)
    amiss_members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    in_force: str = ""
    barred: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Desired:
    """What should be true in the backends: roles with their rights, and who is in which.

    A role's key is ours and stable (`role:17`, `rights:3f9c…`); `labels` say in words what each is for.
    """

    roles: Mapping[str, frozenset[Right]]
    members: Mapping[str, frozenset[str]]
    labels: Mapping[str, str] = field(default_factory=dict)
    revision: int = 0


StepKind = Literal["make_role", "give", "switch", "take", "drop_role", "take_foreign"]


@dataclass(frozen=True)
class Step:
    """One idempotent step of a plan.

    `make_role` role, label; `give`/`take` role rights; `switch` person joins, leaves and keeps (in one
    transaction where the backend has them; Transient when the person is in any other managed role by then);
    `drop_role` role; `take_foreign` rights that `grantor` gave to `person`, which only an order asks for.
    One that `revokes` ends what is no longer decided for somebody, so it never waits for what is given.  One
    that `denies` gives or takes nothing but denials, or moves somebody into or out of a role with some: they
    join in the order of `joins`, which names those first, and leave in that of `leaves`, which does last.
    """

    kind: StepKind
    role: str = ""
    rights: tuple[Right, ...] = ()
    person: str = ""
    joins: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    label: str = ""
    grantor: str = ""
    revokes: bool = False
    denies: bool = False

    @property
    def removes(self) -> int:
        """How many rights or memberships this step takes away."""
        return len(self.leaves) + (len(self.rights) if self.kind in ("take", "take_foreign") else 0)


@dataclass(frozen=True)
class Plan:
    """The sorted difference between desired and observed; the counts are of single rights and memberships."""

    steps: tuple[Step, ...]
    missing: int
    extra: int
    in_sync: int


@dataclass(frozen=True)
class Outcome:
    """What became of one step; `error` is None when it was done."""

    step: Step
    error: Exception | None = None


@dataclass(frozen=True)
class Finding:
    """One line of a check of the connection, in words; not `ok` wants attention, `blocks` stops the sync.

    `cause` is what went wrong by itself, where the text only says besides that it could not be asked.
    """

    ok: bool
    text: str
    blocks: bool = False
    cause: str = ""

    @classmethod
    def unreachable(cls, error: Exception) -> Finding:
        """The check itself could not be done."""
        return cls(ok=False, text=f"cannot connect or read: {error}", blocks=True, cause=str(error))


@dataclass(frozen=True)
class Source:
    """Which system a connection leads to, as that system says itself: the same by whatever address.

    `key` names what is governed, `within` what that lies in: of two sources that are the same, or one of
    which lies in the other, both would govern the same.
    """

    key: str
    within: tuple[str, ...] = ()

    def overlaps(self, other: Source) -> bool:
        """Whether whoever governs this governs something of the other too."""
        return self.key in (other.key, *other.within) or other.key in self.within


class Backend(Protocol):
    """One file per kind of backend implements this; the contract suite runs on each.

    A backend whose system has an identity of its own has a method `source` too, which answers with the
    `Source`; else the real folder, or the addresses and the name in the URL, are taken for it.
    """

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The backend's rights on an object of `kind` that carry a console privilege; () when it has none."""

    def observe(self) -> Observation:
        """Read everything that matters in one consistent look.  Raises errors of `errors`."""

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Carry out step by step, each idempotent and in short transactions, yielding what became of it.

        A failed step stops only those that `ordering.waits_for` says; a backend out of reach raises
        Transient or Misconfigured.
        """

    def check(self) -> Iterable[Finding]:
        """Say in words whether the connection works and what the account may do."""

    def close(self) -> None:
        """Let go of connections."""
