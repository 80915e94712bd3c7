"""Authority for one change, decided on the very state that the change finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext

from catalog.nodes import Node
from policies.authority import Actor, Authority, require
from policies.decisions import ask
from policies.errors import Refused
from policies.record.change import change
from policies.services import realm_of


def may(actor: Actor, operation: str, node: Node, *, otherwise: str = "") -> Authority:
    """The authority to do an operation to an object, by the same law as everything else.  Raises Refused."""
    if actor.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    answer = ask.ask(actor.decides_as, operation, node)
    refusal = otherwise or gettext("You may not do this to %(name)s.") % {
        "name": node.ref.full_name or node.name
    }
    return require(answer.decision, actor, otherwise=refusal)


@contextmanager
def authorized(
    kind: str, node: Node, operation: str, *, by: Actor, reason: str = "", otherwise: str = ""
) -> Iterator[Authority]:
    """A change whose authority is judged under the writers' lock.  Raises Refused."""
    with change(kind, realm=realm_of(node), by=by, reason=reason):
        yield may(by, operation, node, otherwise=otherwise)
