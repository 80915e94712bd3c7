"""The places of the console: what somebody may find in the navigation, and how much waits for them there."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import StrOrPromise, Tab, Tabs
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from policies.analytics.pipelines import overview
from policies.authority import Actor
from policies.requests import visibility
from policies.reviews import worklist
from policies.services.grants import revision_now

MOST_COUNTED = 100
"""Requests that wait are counted so far; beyond that the badge says 100+."""
KEPT = 2000
"""So many people's navigation is kept in a process."""
LASTS = 60.0  # seconds; what begins or ends by the clock alone shows within that time


@dataclass(frozen=True)
class Place:
    """A place of the console; `key` follows `g` on the keyboard; `more` lies under More on small screens.

    `rooms` are its pages, each with the label of its tab; the first is where the entry leads.  A place
    without them is one page, called as its code.
    """

    code: str
    name: str
    icon: str
    key: str
    rooms: tuple[tuple[str, str], ...] = ()
    more: bool = False
    waiting: str = ""

    @property
    def url(self) -> str:
        return reverse(f"console:{self.rooms[0][0] if self.rooms else self.code}")


PLACES = (
    Place("home", noop("Home"), "home", "h"),
    Place("requests", noop("Requests"), "request", "r"),
    Place("reviews", noop("Reviews"), "review", "v"),
    Place("catalog", noop("Catalog"), "catalog", "c"),
    Place(
        "people",
        noop("People"),
        "user",
        "p",
        (("people", noop("People and groups")), ("roles", noop("Roles")), ("owners", noop("Owners"))),
        more=True,
    ),
    Place(
        "insights",
        noop("Insights"),
        "chart",
        "u",
        (("hints", noop("Hints")), ("overview", noop("Overview")), ("pipelines", noop("Pipelines"))),
        more=True,
    ),
    Place(
        "audit",
        noop("Audit"),
        "history",
        "t",
        (
            ("history", noop("Changes")),
            ("looks", noop("Refusals and views")),
            ("history_archive", noop("Archive")),
            ("integrity", noop("Integrity")),
            ("emergencies", noop("Emergency access")),
        ),
        more=True,
    ),
    Place("sync", noop("Sync"), "sync", "s", more=True),
)
SETTINGS = Place(
    "settings",
    noop("Settings"),
    "gear",
    "l",
    (("realms", noop("Realms")), ("accounts", noop("Accounts"))),
    more=True,
)
EVERY = (*PLACES, SETTINGS)
_PLACE_OF = {"emergency": "audit", **{code: place.code for place in EVERY for code, _ in place.rooms}}
FOR_ADMINS = frozenset({"accounts"})
FOR_CARERS = frozenset({"insights", "sync", "settings", "emergencies"})
"""Places and rooms that hold something for those alone who give access, watch or run something."""
OF_FIGURES = frozenset({"overview", "pipelines"})
"""Rooms for those alone who may see the figures of a whole realm."""


@dataclass(frozen=True)
class Doors:
    """What is open to one person: the places and rooms that can hold something for them, and what waits."""

    places: frozenset[str]
    rooms: frozenset[str]
    waiting: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, person: Principal) -> Doors:
        """What is open to them now."""
        circle = VisiblePrincipals(person)
        owed = sum(item.open for item in worklist.owing(person))
        waiting = visibility.waiting_for(person).order_by().values("pk")[: MOST_COUNTED + 1].count()
        places = {place.code for place in EVERY}
        rooms = EVERY_ROOM if circle.runs_the_site else EVERY_ROOM - FOR_ADMINS
        if not sees_figures(circle):
            rooms = rooms - OF_FIGURES
        if not looks_after_anything(circle):
            places, rooms = places - FOR_CARERS, rooms - FOR_CARERS
            if not owed and not worklist.reviews_for(person).exists():
                places.discard("reviews")
        counts = {"requests": counted(waiting), "reviews": words.number(owed) if owed else ""}
        return cls(frozenset(places), rooms, counts)

    def shown(self) -> list[Place]:
        """The entries of the navigation, each with how much waits there."""
        return [self._of(place) for place in PLACES if place.code in self.places]

    def settings(self) -> Place | None:
        return self._of(SETTINGS) if SETTINGS.code in self.places else None

    def _of(self, place: Place) -> Place:
        rooms = tuple((code, gettext(label)) for code, label in place.rooms if code in self.rooms)
        waiting = self.waiting.get(place.code, "")
        return replace(place, name=gettext(place.name), rooms=rooms, waiting=waiting)

    def tabs(self, room: str) -> Tabs | None:
        """The rooms of the place that a page is one of, and itself; None where there is no other."""
        doors = replace(self, rooms=self.rooms | {room})
        place = next((doors._of(item) for item in EVERY if room in dict(item.rooms)), None)
        if place is None or len(place.rooms) < 2:
            return None
        made = (Tab(label, reverse(f"console:{code}"), code == room) for code, label in place.rooms)
        return Tabs(tuple(made), gettext("Parts of %(name)s") % {"name": place.name})


def looks_after_anything(circle: VisiblePrincipals) -> bool:
    """Whether anything is theirs to give, to watch or to run."""
    return circle.gives_access or sees_figures(circle)


def sees_figures(circle: VisiblePrincipals) -> bool:
    """Whether they may see the figures of a whole realm."""
    by = Actor(circle.asker, "console")
    return circle.runs_the_site or any(overview.may_look(by, realm) for realm in circle.realms)


def place_of(section: str) -> str:
    """The place to which a section of pages belongs."""
    return _PLACE_OF.get(section, section)


EVERY_ROOM = frozenset(code for place in EVERY for code, _ in place.rooms)
NOBODYS = Doors(
    frozenset({"home", "requests", "catalog", "people", "audit"}),
    EVERY_ROOM - FOR_ADMINS - FOR_CARERS - OF_FIGURES,
)


class _Known:
    """What is open to whom; looked up again after a change, or when it is a minute old."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.by_person: OrderedDict[int, tuple[int, float, Doors]] = OrderedDict()

    def of(self, person: Principal, revision: int) -> Doors:
        with self.lock:
            at, when, doors = self.by_person.get(person.pk, (-1, 0.0, NOBODYS))
        if at == revision and time.monotonic() - when < LASTS:
            return doors
        doors = Doors.of(person)
        with self.lock:
            self.by_person[person.pk] = (revision, time.monotonic(), doors)
            self.by_person.move_to_end(person.pk)
            while len(self.by_person) > KEPT:
                self.by_person.popitem(last=False)
        return doors

    def forget(self) -> None:
        with self.lock:
            self.by_person.clear()


known = _Known()


def doors_of(person: Principal | None, revision: int | None = None) -> Doors:
    """What is open to somebody.  No query when nothing changed since they were last looked up.

    Without a revision one query asks for it.
    """
    if person is None:
        return NOBODYS
    return known.of(person, revision_now() if revision is None else revision)


Groups = tuple[tuple[StrOrPromise, tuple[tuple[str, StrOrPromise], ...]], ...]


def grouped(
    groups: Groups,
    current: str,
    tab: Callable[[str, StrOrPromise], Tab],
    has: Callable[[str], bool] = lambda _: True,
) -> Tabs:
    """Tabs of which some hold several pages: the tab leads to the first, the others lie inside."""
    shown: list[Tab] = []
    inside: tuple[Tab, ...] = ()
    for label, pages in groups:
        made = [tab(code, name) for code, name in pages if has(code)]
        if not made:
            continue
        is_current = any(item.current for item in made)
        shown.append(replace(made[0], label=label, current=is_current))
        if is_current and len(made) > 1:
            inside = tuple(replace(item, count="") for item in made)
    return Tabs(tuple(shown), inside=inside)


def counted(many: int) -> str:
    """12; 100+; nothing for none."""
    if not many:
        return ""
    return words.number(many) if many <= MOST_COUNTED else f"{words.number(MOST_COUNTED)}+"


def found_by(doors: Doors) -> Iterable[tuple[Place, str, str]]:
    """Every room that is open, with its address and name, for who looks it up by name."""
    for place in filter(None, (*doors.shown(), doors.settings())):
        if not place.rooms:
            yield place, place.url, place.name
        for code, label in place.rooms:
            yield place, reverse(f"console:{code}"), label
