"""What all commands share: one-line errors, exit 2 on misuse and 1 on failure, the operator's authority."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError

from accounts import people
from accounts.models import Principal
from accounts.tokens import UnknownScope, WrongAddress
from catalog.nodes import Node
from catalog.queries import find, realm_named, root
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.principals import BadPrincipal
from lakewarden.law.principals import Principal as PrincipalRef
from policies.authority import OPERATOR, Authority, of_operator
from policies.errors import PolicyError

FAILURES = (PolicyError, BackendError)
MISUSE = (BadPrincipal, BadName, people.BadName, UnknownScope, WrongAddress, Misconfigured)


class OperatorCommand(BaseCommand):
    """A command run at the machine's own shell."""

    requires_system_checks: list[str] = []
    by = OPERATOR

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.error = lambda message: parser.exit(2, f"{parser.prog}: {message}\n")  # type: ignore[method-assign]
        return parser

    @property
    def authority(self) -> Authority:
        return of_operator(self.by)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.run(**options)
        except MISUSE as problem:
            self.fail(str(problem), code=2)
        except FAILURES as problem:
            self.fail(str(problem), code=1)
        except OperationalError as problem:
            self.fail(f"the console's own database: {problem}", code=1)

    if TYPE_CHECKING:
        run: Callable[..., None]  # each command names the options it takes

    def fail(self, text: str, *, code: int = 1) -> NoReturn:
        self.stderr.write(text.replace("\n", " "))
        sys.exit(code)


def realm_root(name: str) -> Node:
    """The root of the realm of that name.  Raises PolicyError."""
    realm = realm_named(name)
    if realm is None:
        raise PolicyError(f"there is no realm `{name}`")
    return root(realm)


def catalog_node(place: str) -> Node:
    """The catalog named `REALM/CATALOG`.  Raises PolicyError, BadName."""
    ref = ObjectRef.parse("catalog", place)
    if not ref.path:
        raise BadName(f"`{place}` is not of the form REALM/CATALOG")
    node = find(ref)
    if node is None:
        raise PolicyError(f"there is no catalog `{place}`")
    return node


def connected_node(place: str) -> Node:
    """What a backend can be connected to: `REALM/CATALOG`, or a realm alone.  Raises PolicyError, BadName."""
    return catalog_node(place) if "/" in place else realm_root(place)


def principal(text: str) -> Principal:
    """The principal written as `user:NAME`, made when absent.  Raises BadPrincipal."""
    ref = PrincipalRef.parse(text)
    return people.ensure(ref.kind, ref.name)


def known(text: str) -> Principal:
    """The principal written as `user:NAME`, of whom the site has heard.  Raises PolicyError, BadPrincipal."""
    ref = PrincipalRef.parse(text)
    principal_ = people.find(ref.kind, ref.name)
    if principal_ is None:
        raise PolicyError(f"there is no {text}")
    return principal_
