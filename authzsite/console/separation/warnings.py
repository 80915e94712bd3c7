"""Above a form: whom it would bring in conflict with a rule of separation, before it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.inputs.dates import When
from authzsite.console.separation.context import clash_words
from catalog.nodes import Node
from policies.authority import Actor
from policies.previews import grants
from policies.separation import Violation, forecast, visibility
from policies.separation.visibility import Sight
from policies.services.grants import GrantRequest

TOLD = 3


def of_wishes(wishes: Sequence[GrantRequest], actor: Actor) -> list[Note]:
    return _notes(grants.clashes(wishes, actor), actor.principal)


def of_role(role: Node, holders: Sequence[Principal], when: When, reader: Principal) -> list[Note]:
    root = next(iter(role.above()))
    given = [forecast.role(holder, role, (when.begin, when.end)) for holder in holders]
    return _notes(forecast.conflicts(root, given), reader)


def of_joining(
    realms: Iterable[Node], group: Principal, people: Sequence[Principal], reader: Principal
) -> list[Note]:
    return _notes([item for root in realms for item in forecast.of_joining(root, group, people)], reader)


def _notes(clashes: Sequence[Violation], reader: Principal | None) -> list[Note]:
    seen = visibility.of_clashes(reader, clashes[:TOLD]) if clashes else Sight({})
    notes = [Note("bad", *clash_words(clash, seen)) for clash in clashes[:TOLD]]
    more = len(clashes) - TOLD
    return [*notes, *([Note("bad", _("The same for %(more)s more.") % {"more": more})] if more > 0 else [])]
