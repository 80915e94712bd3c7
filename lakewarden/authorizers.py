"""Authorizers: where the privileges of a realm come from when they are managed elsewhere.

A package names its own in the entry-point group `lakewarden.authorizers`; an entry's name is its code, and
its value is called with the configuration.  An authorizer only says what somebody has; the realm's law goes
on deciding what that allows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, Union

from lakewarden.client import Client
from lakewarden.client.transport import NotConfigured, Unavailable
from lakewarden.law.objects import ObjectRef
from lakewarden.law.principals import Principal

GROUP = "lakewarden.authorizers"
TYPES = (
    "namespace",
    "application",
    "program",
    "dataset",
    "stream",
    "artifact",
    "dataset_type",
    "dataset_module",
    "securekey",
    "kerberosprincipal",
)
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN")

Config = Mapping[str, Union[str, int, float, bool, list]]  # type: ignore[type-arg]  # as TOML has it


class BadConfiguration(ValueError):
    """An authorizer is not there or cannot be set up so; the text says why and holds no secret."""


@dataclass(frozen=True)
class Configured:
    """Which extension serves a realm, its own properties, and for how many seconds its answers count."""

    extension: str
    config: Config = field(default_factory=dict)
    refresh: float = 50.0
    ttl: float = 60.0


class Authorizer(Protocol):
    """What an extension is; it may be asked from several threads at once."""

    def privileges(self, principal: Principal, groups: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What somebody in these groups has: `("dataset:ns1.orders", "READ")`, patterns too.

        Whatever it raises means that nobody knows, and counts as nothing.
        """


def codes() -> list[str]:
    """Every authorizer that is installed."""
    return sorted({*_BUILT_IN, *_plugged()})


def make(code: str, config: Config) -> Authorizer:
    """The authorizer of that code, with its own configuration.  Raises BadConfiguration."""
    if code not in codes():
        raise BadConfiguration(f"there is no authorizer {code!r}; installed are {', '.join(codes())}")
    try:
        made: Any = _BUILT_IN[code] if code in _BUILT_IN else _plugged()[code].load()
        authorizer: Authorizer = made(dict(config))
    except BadConfiguration:
        raise
    except Exception as error:  # another's code may fail in any way
        raise BadConfiguration(f"the authorizer {code!r} cannot be set up: {type(error).__name__}") from error
    return authorizer


def forget() -> None:
    """Look again at what is installed."""
    _plugged.cache_clear()


@cache
def _plugged() -> dict[str, EntryPoint]:
    points: Any = entry_points()  # before Python 3.10 a dictionary of groups
    entries = points.select(group=GROUP) if hasattr(points, "select") else points.get(GROUP, ())
    return {entry.name: entry for entry in entries}


class AuthZen:
    """Asks an OpenID AuthZEN authority, by resource searches, what somebody may do.

    `url` and `token` (`$NAME`: of the environment) say where, `realm` what stands before a slash in its ids;
    `types` and `actions` narrow what is asked: one search each.
    """

    def __init__(self, config: Config) -> None:
        unknown = config.keys() - {"url", "token", "realm", "types", "actions", "timeout"}
        if unknown:
            raise BadConfiguration(f"authzen knows no {', '.join(sorted(unknown))}")
        token = str(config.get("token", ""))
        if token.startswith("$"):
            token = os.environ.get(token[1:], "")
        try:
            self._timeout = float(config.get("timeout", 5))  # type: ignore[arg-type]  # a list raises TypeError
            self._client = Client(str(config.get("url", "")), token, timeout=self._timeout)
        except (NotConfigured, ValueError, TypeError) as error:
            raise BadConfiguration(f"authzen: {error}") from None
        self._realm = str(config.get("realm", ""))
        self._types, self._actions = _texts(config, "types", TYPES), _texts(config, "actions", ACTIONS)

    def privileges(self, principal: Principal, groups: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What the authority finds, all of it in time; the groups are its own business."""
        end = time.monotonic() + self._timeout
        for type_ in self._types:
            for action in self._actions:
                if time.monotonic() > end:
                    raise Unavailable("the authority takes too long")
                for ref in self._client.where_may(principal, action, type_):
                    if ref.realm == self._realm:
                        yield f"{type_}:{_name(ref)}", action


def _name(ref: ObjectRef) -> str:
    return ref.id.partition("/")[2]


def _texts(config: Config, name: str, usual: Sequence[str]) -> tuple[str, ...]:
    value = config.get(name, list(usual))
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadConfiguration(f"authzen: {name} must be a list of texts")
    return tuple(value)


_BUILT_IN: dict[str, Any] = {"authzen": AuthZen}
