"""Above a form: whom it would bring in conflict with a rule of separation, before it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accounts.models import Principal
from authzsite.console.parts import Note
from authzsite.console.separation.sight import clash_words
from authzsite.console.when import When
from catalog.nodes import Node, nodes
from policies import preview
from policies.authority import Actor
from policies.separation import Clash, foreseeing
from policies.separation.sides import sides_of
from policies.services.grants import Wish

TOLD = 3


def of_wishes(wishes: Sequence[Wish], actor: Actor) -> list[Note]:
    return _notes(preview.clashes(wishes, actor))


def of_role(role: Node, holders: Sequence[Principal], when: When) -> list[Note]:
    root = next(iter(role.above()))
    given = [foreseeing.role(one, role, (when.begin, when.end)) for one in holders]
    return _notes(foreseeing.conflicts(root, given))


def of_joining(realms: Iterable[Node], group: Principal, people: Sequence[Principal]) -> list[Note]:
    return _notes([one for root in realms for one in foreseeing.of_joining(root, group, people)])


def _notes(clashes: Sequence[Clash]) -> list[Note]:
    places = nodes({side.key for one in clashes for side in sides_of(one.rule)}) if clashes else {}
    told = [Note("bad", *clash_words(one, places)) for one in clashes[:TOLD]]
    more = len(clashes) - TOLD
    return [*told, *([Note("bad", f"The same for {more} more.")] if more > 0 else [])]
