"""The right to change something, as a value that only a decision can make."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import Principal
from accounts.record import Origin
from lakewarden.law.engine import Decision
from policies.errors import Refused

_SEAL = object()


@dataclass(frozen=True)
class Actor:
    """Who acts, and through which door.  `principal` is None for the operator's shell and the system."""

    principal: Principal | None
    via: str
    request_id: str = ""
    on_behalf_of: Principal | None = None

    @property
    def pseudonym(self) -> str:
        return self.principal.pseudonym if self.principal else self.via

    @property
    def decides_as(self) -> Principal | None:
        """Whose rights count: the person acted for, else the actor."""
        return self.on_behalf_of or self.principal


OPERATOR = Actor(None, "operator")
SYSTEM = Actor(None, "system")
DIRECTORY = Actor(None, "directory")
"""The proxy or identity provider that the settings trust to say who is who."""


@dataclass(frozen=True)
class Authority:
    """An actor and the ground on which they may act; made by `require` and the functions beside it alone."""

    actor: Actor
    ground: str
    _seal: object = None

    def __post_init__(self) -> None:
        if self._seal is not _SEAL:
            raise TypeError("an Authority comes from a decision")


def require(decision: Decision, actor: Actor, *, otherwise: str) -> Authority:
    """Turn a yes into authority; raise Refused with the words of `otherwise` on a no."""
    if not decision.allowed:
        raise Refused(otherwise, decision)
    return Authority(actor, decision.operation, _SEAL)


def of_duty(actor: Actor, duty: str, *, held: bool, otherwise: str) -> Authority:
    """Turn a duty of the console, held or not, into authority; raise Refused with `otherwise` on a no."""
    if not held:
        raise Refused(otherwise)
    return Authority(actor, duty, _SEAL)


def of_operator(actor: Actor) -> Authority:
    """Who can run the site's commands on its machine is past every law; the record says `operator`."""
    if actor.principal is not None:
        raise TypeError("an operator has no principal")
    return Authority(actor, "operator", _SEAL)


def of_system(ground: str) -> Authority:
    """What the law itself brings about, such as a personal role that appears with its first grant."""
    return Authority(SYSTEM, ground, _SEAL)


def origin_of(actor: Actor) -> str:
    """How facts that this actor makes came about."""
    origins = {
        "console": Origin.HAND,
        "operator": Origin.COMMAND,
        "system": Origin.SYSTEM,
        "directory": Origin.DIRECTORY,
        "request": Origin.REQUEST,
        "emergency": Origin.EMERGENCY,
    }
    return origins.get(actor.via, Origin.API)
