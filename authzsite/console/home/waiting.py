"""What waits for somebody, said by each area for itself; Home lists it all.

An area registers a function beside its pages: `@waits(20, "review")` over one from the asker to what waits
for them, the oldest first.  Its module must be imported by the area's addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action

SHOWN = 5
"""So many of one area stand on Home; the rest behind its own link."""


@dataclass(frozen=True)
class Waits:
    """The first of what waits, how many there are in all, and the page where all of them are.

    `step` is the page's filled button when this comes first on it; `lead` a sentence under the heading.
    """

    items: tuple[Item, ...]
    many: int = 0
    step: Action | None = None
    lead: str = ""

    @property
    def count(self) -> int:
        return max(self.many, len(self.items))


Finder = Callable[[Principal], Waits | Iterable[Item]]


@dataclass(frozen=True)
class _Known:
    order: int
    one: str
    several: str
    finder: Finder


@dataclass(frozen=True)
class Area:
    """What one area has waiting, with its word: request, requests."""

    one: str
    several: str
    waits: Waits

    def counted(self) -> str:
        return words.count(self.waits.count, self.one, self.several)


_KNOWN: list[_Known] = []


def waits(order: int, one: str, several: str = "") -> Callable[[Finder], Finder]:
    """Register what waits in an area: a lower `order` stands first; `one` and `several` are its word.

    Requests are 10, reviews 20, what was done in an emergency 30.  The number of its queries must not depend
    on how much waits.
    """

    def register(finder: Finder) -> Finder:
        _KNOWN.append(_Known(order, one, several or f"{one}s", finder))
        _KNOWN.sort(key=lambda area: area.order)
        return finder

    return register


def areas(asker: Principal) -> list[Area]:
    """What waits for somebody, area by area; those where nothing does are left out."""
    areas_ = []
    for area in _KNOWN:
        finder = area.finder(asker)
        waiting = finder if isinstance(finder, Waits) else Waits(tuple(finder))
        if waiting.count:
            areas_.append(Area(area.one, area.several, waiting))
    return areas_


def heading(some: Sequence[Area], others: int) -> str:
    """Three requests wait for you; Five things wait for you; Nothing waits for you."""
    many = sum(area.waits.count for area in some) + others
    if not many:
        return _("Nothing waits for you")
    singular, several = (
        (some[0].one, some[0].several) if len(some) == 1 and not others else ("thing", "things")
    )
    what = f"{words.spelled(many)} {ngettext(singular, several, many)}"
    return ngettext("%(what)s waits for you", "%(what)s wait for you", many) % {"what": what}
