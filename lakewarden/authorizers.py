"""Authorizers: where the privileges of a realm come from when they are managed elsewhere.

A package names its own in the entry-point group `lakewarden.authorizers`; an entry's name is its code, and
its value is called with the configuration.  An authorizer only says what somebody has; the realm's law goes
on deciding what that allows.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol, Union

from lakewarden import ranger_policies, sentry_policies
from lakewarden.client import Client
from lakewarden.client.cache_settings import TEN_MINUTES
from lakewarden.client.transport import NoRedirect, NotConfigured, Unavailable, received
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
MOST_LETTERS = 10_000_000
"""A longer policy file is not read."""
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
    ttl: float = TEN_MINUTES


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
                for ref in self._client.where_may(principal, action, type_):
                    # its pages need not end
                    if time.monotonic() > end:
                        raise Unavailable("the authority takes too long")
                    if ref.type != type_:
                        raise Unavailable("the authority found something else than was sought")
                    if ref.realm == self._realm:
                        name = ref.id.partition("/")[2]
                        yield f"{type_}:{name}", action
                if time.monotonic() > end:
                    raise Unavailable("the authority takes too long")


def _texts(config: Config, name: str, usual: Sequence[str]) -> tuple[str, ...]:
    value = config.get(name, list(usual))
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadConfiguration(f"authzen: {name} must be a list of texts")
    return tuple(value)


class Ranger:
    """Reads the policies and roles of a service of Apache Ranger, as Ranger's own plug-ins download them.

    `url`, `user` and `password` (`$NAME`: of the environment) say where, `service` which service, `instance`
    the name of the CDAP in its policies.
    """

    def __init__(self, config: Config) -> None:
        unknown = config.keys() - {"url", "user", "password", "service", "instance", "timeout"}
        if unknown:
            raise BadConfiguration(f"ranger knows no {', '.join(sorted(unknown))}")
        given = {
            name: str(config.get(name, "")) for name in ("url", "user", "password", "service", "instance")
        }
        missing = [name for name in ("url", "service", "instance") if not given[name]]
        if missing or not given["url"].startswith(("http://", "https://")):
            raise BadConfiguration(f"ranger needs {', '.join(missing) or 'an http or https url'}")
        if given["password"].startswith("$"):
            given["password"] = os.environ.get(given["password"][1:], "")
        try:
            self._timeout = float(config.get("timeout", 5))  # type: ignore[arg-type]  # a list raises TypeError
        except (ValueError, TypeError) as error:
            raise BadConfiguration(f"ranger: {error}") from None
        self._instance = given["instance"]
        self._server = RangerServer(given["url"], given["service"], given["user"], given["password"])

    def privileges(self, principal: Principal, groups: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What the policies allow a person, by name, group or role; Ranger knows no service accounts."""
        if principal.kind != "user":
            return []
        policies, roles = self._server.load(self._timeout)
        asker = ranger_policies.Asker(
            principal.name,
            frozenset(groups),
            ranger_policies.roles_of(principal.name, groups, roles),
        )
        return list(ranger_policies.privileges(policies, asker, self._instance))


class RangerServer:
    """The downloads of one service.  Policies that did not change are not sent again."""

    def __init__(self, url: str, service: str, user: str, password: str) -> None:
        self._url, self._service = url.rstrip("/"), urllib.parse.quote(service, safe="")
        secret = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {
            "Accept": "application/json",
            **({"Authorization": f"Basic {secret}"} if user else {}),
        }
        self._known: tuple[int, list[Any]] = (-1, [])

    def load(self, timeout: float) -> tuple[list[Any], list[Any]]:
        """The policies and the roles.  Whatever is no answer raises."""
        version, policies = self._known
        end = time.monotonic() + timeout
        sent = self._get(f"/service/plugins/policies/download/{self._service}", version, end)
        if sent is not None:
            if urllib.parse.quote(str(sent.get("serviceName", "")), safe="") not in ("", self._service):
                raise ranger_policies.NotUnderstood("Ranger sends the policies of another service")
            strange = [name for name in ("tagPolicies", "securityZones") if sent.get(name)]
            if strange or sent.get("policyDeltas"):
                raise ranger_policies.NotUnderstood(
                    f"Ranger sends {', '.join(strange) or 'parts of policies'}"
                )
            policies = list(sent["policies"])
            self._known = int(sent["policyVersion"]), policies
        roles = self._get(f"/service/roles/download/{self._service}", -1, end)
        return policies, list((roles or {}).get("rangerRoles") or ())

    def _get(self, path: str, version: int, end: float) -> dict[str, Any] | None:
        """What is sent until `end` of the monotonic clock; None where nothing changed since the version."""
        address = f"{self._url}{path}?lastKnownVersion={version}&pluginId=lakewarden"
        request = urllib.request.Request(address, headers=self._headers)  # noqa: S310 - http or https alone
        try:
            with _opener.open(request, timeout=max(0.001, end - time.monotonic())) as answer:
                text = received(answer, end)
        except urllib.error.HTTPError as error:
            if error.code == 304 and version >= 0:
                return None
            raise
        content: dict[str, Any] = json.loads(text)
        return content


class Sentry:
    """Reads a policy file of Apache Sentry: roles of groups, and privileges of roles.

    `file` is its absolute path, `instance` the name of the CDAP in it.  It is read again with each fetch.
    """

    def __init__(self, config: Config) -> None:
        if config.keys() != {"file", "instance"}:
            raise BadConfiguration("sentry takes file and instance and nothing else")
        self._file, self._instance = Path(str(config["file"])), str(config["instance"])
        if not self._file.is_absolute() or not self._instance:
            raise BadConfiguration("sentry needs the absolute path of a file, and the name of an instance")
        try:
            self._read()
        except (OSError, ValueError) as error:
            reason = str(error) if isinstance(error, sentry_policies.NotUnderstood) else type(error).__name__
            raise BadConfiguration(f"sentry: {self._file} cannot be read: {reason}") from None

    def privileges(self, principal: Principal, groups: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What the roles of these groups have; a name of somebody's own has nothing."""
        return self._read().privileges(groups)

    def _read(self) -> sentry_policies.PolicyFile:
        with self._file.open(encoding="utf-8") as file:
            text = file.read(MOST_LETTERS + 1)
        if len(text) > MOST_LETTERS:
            raise sentry_policies.NotUnderstood("it is too large")
        return sentry_policies.read(text, self._instance)


_opener = urllib.request.build_opener(NoRedirect)
_BUILT_IN: dict[str, Any] = {"authzen": AuthZen, "ranger": Ranger, "sentry": Sentry}
