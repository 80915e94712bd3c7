"""Home: what waits, what ends, what one owns, what one reaches, what changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console import admins, first, naming, record, waiting, words
from authzsite.console.door import signed_in
from authzsite.console.lists import Item, Tile
from authzsite.console.methods import reads
from authzsite.console.parts import Action, Chip, Empty, Face, Path, State, Who
from authzsite.console.requests import Request, asker_of
from authzsite.console.shell import page
from authzsite.console.sync import visible_backends
from catalog.models import Placement
from catalog.nodes import Node, any_of
from catalog.queries import nodes
from lakewarden.facts import OWNER, Rule, Slice
from policies import history, ownership, slices
from policies.history import Filter
from policies.models import BackendFinding
from policies.ownership import GONE, Asked
from policies.queries import Ending, ending_soon, foreign_on, owned_by, realms_of
from policies.services.grants import revision_now

SOON, WEEK = timedelta(days=14), timedelta(days=7)
SHOWN, REACH = 10, 12
ASIDE = ("role", "tag", "policy", "job_template", "job")
"""What is owned beside data; it has no room of its own yet."""


LATE = {
    "Not reached": "is not reached",
    "Needs somebody": "refuses changes and needs somebody",
    "Held": "holds a plan that takes much until somebody looks at it",
    "Paused": "is paused",
}


@dataclass(frozen=True)
class End:
    who: Who
    can: str
    on: str
    url: str
    ends: Chip | None
    action: Action


@dataclass(frozen=True)
class Reach:
    what: Who
    can: str
    how: Path
    ends: Chip | None


@dataclass
class Desk:
    """What one person finds on coming in.  The number of queries does not depend on how much that is."""

    asker: Principal

    @cached_property
    def now(self) -> datetime:
        return timezone.now()

    @cached_property
    def realms(self) -> list[Node]:
        return realms_of(self.asker)

    @cached_property
    def slices(self) -> list[Slice]:
        return [slices.current(self.asker, realm, now=self.now) for realm in self.realms]

    @cached_property
    def owned(self) -> list[int]:
        return [key for realm in self.realms for key in owned_by(self.asker, realm)]

    @cached_property
    def endings(self) -> list[Ending]:
        return ending_soon(self.owned, now=self.now, until=self.now + SOON) if self.owned else []

    @cached_property
    def foreign(self) -> list[BackendFinding]:
        return list(foreign_on(self.owned).select_related("backend")) if self.owned else []

    @cached_property
    def backends(self) -> list[Any]:
        return visible_backends(self.asker, self.realms)[0]

    @cached_property
    def sight(self) -> history.Sight:
        return history.sight(self.asker, self.realms)

    @cached_property
    def reached(self) -> list[Rule]:
        """What rules say of the person alone or through groups, the own first, ownership apart."""
        now = self.now.timestamp()
        rules = [rule for slice_ in self.slices for rule in slice_.rules if rule.privilege != OWNER]
        return [rule for rule in rules if rule.holds_at(now)]

    @cached_property
    def places(self) -> dict[int, Node]:
        """Every object that this page names, at once."""
        ending = [one.grant.securable_id for one in self.endings[:SHOWN]]
        foreign = [row.securable_id for row in self.foreign]
        reached = [rule.object for rule in self.reached]
        keys = {key for key in (*self.first_owned, *ending, *foreign, *reached) if isinstance(key, int)}
        return nodes(keys)

    @cached_property
    def first_owned(self) -> list[int]:
        """The highest of what one owns, by name; what lies deeper has a list of its own."""
        if not self.owned:
            return []
        rows = Placement.objects.open().filter(any_of("securable_id", self.owned)).exclude(type__in=ASIDE)
        rows = rows.order_by("ancestors__len", "name", "pk")
        return list(rows.values_list("securable", flat=True)[:SHOWN])

    @cached_property
    def groups(self) -> dict[Any, str]:
        """What the groups on the way are called."""
        via = (one for rule in self.reached for one in rule.via if one.kind == "group")
        keys = {one.key for one in via if isinstance(one.key, int)}
        return {row.pk: row.label for row in Principal.objects.filter(pk__in=keys)} if keys else {}

    @cached_property
    def inside(self) -> dict[int, int]:
        """How many objects lie directly in each that one owns."""
        rows = Placement.objects.open().filter(parent__in=self.first_owned).values_list("parent")
        return dict(rows.annotate(Count("pk")))

    # What waits

    @cached_property
    def areas(self) -> list[waiting.Area]:
        return waiting.areas(self.asker)

    @cached_property
    def here(self) -> list[Item]:
        """What no other room has a list of."""
        return [*self._ownerless(), *self._ends_now(), *self._strangers(), *self._late()]

    @cached_property
    def waiting(self) -> list[Item]:
        asked = (item for area in self.areas for item in area.waits.items[: waiting.SHOWN])
        return [*asked, *self.here]

    def step(self) -> Action:
        """The page's one filled button: what somebody else waits for, else a look around."""
        steps = [area.waits.step for area in self.areas if area.waits.step]
        look = "primary" if not self.waiting else ""
        return steps[0] if steps else Action("Browse the catalog", reverse("console:catalog"), look)

    def _ownerless(self) -> Iterable[Item]:
        """What lies in what one owns and belongs to somebody who cannot sign in any more."""
        for realm in self.realms:
            many = ownership.places(Asked(realm, how=GONE), self.owned).count() if self.owned else 0
            if many:
                belongs = "belongs" if many == 1 else "belong"
                url = f"{reverse('console:owners')}?{urlencode({'how': GONE, 'in': realm.id})}"
                look = Action("Hand over", url, "mini", more=f"objects in {realm.name}")
                text = f"{words.count(many, 'object')} {belongs} to who cannot sign in"
                note = "Nobody gives access to them or answers for them · they wait for another owner"
                yield Item(Face("thing", "key"), realm.name, f": {text}", note, look)

    def _ends_now(self) -> Iterable[Item]:
        for one in [end for end in self.endings if not end.grant.privilege.startswith("USE_")][:3]:
            node = self.places.get(one.grant.securable_id or 0)
            if node and one.holder and one.grant.valid_until:
                right = naming.lower(naming.right(one.grant.privilege, node.type, node.kind))
                end = one.grant.valid_until
                note = f"Ends by itself on {words.moment(end)}, {words.ends_in(end)}"
                yield Item(
                    naming.face_of(one.holder),
                    one.holder.label,
                    f"loses {right} on",
                    note,
                    extend(node, one),
                    naming.short_name(node),
                    naming.page_of(node.id, node.type),
                )

    def _strangers(self) -> Iterable[Item]:
        owned, by_place = set(self.owned), dict[Node, list[BackendFinding]]()
        for row in self.foreign:
            node = self.places.get(row.securable_id or 0)
            if node is not None:
                by_place.setdefault(_nearest(node, owned), []).append(row)
        for node, rows in sorted(by_place.items(), key=lambda pair: -len(pair[1]))[:3]:
            system = rows[0].backend.get_kind_display()
            grants = words.count(len(rows), "grant")
            first = naming.lower(words.moment(min(row.first_seen for row in rows)))
            note = f"Seen first {first} · left as they are until you decide"
            look = Action(
                "Look",
                reverse("console:object_sync", args=[node.id]),
                "mini",
                more=f"at foreign grants on {node.name}",
            )
            yield Item(
                Face("thing", "alien"),
                "",
                f"{system} has {grants} that nobody made here on",
                note,
                look,
                naming.short_name(node),
                naming.page_of(node.id, node.type),
            )

    def _late(self) -> Iterable[Item]:
        for line in self.backends if self.owned else []:
            if line.state.kind in ("failed", "behind", "paused"):
                look = Action("Look", line.url, "mini", more=f"at {line.name}")
                text = LATE.get(line.state.word, "has not caught up")
                note = f"{line.state.note} · {line.checked}" if line.state.note else line.checked
                yield Item(Face("thing", "behind"), line.name, text, note, look)

    def ending(self) -> list[End]:
        shown = []
        for one in self.endings[:SHOWN]:
            node = self.places.get(one.grant.securable_id or 0)
            if node is None:
                continue
            who = naming.who(one.holder) if one.holder else Who("A role", Face("group"))
            shown.append(
                End(
                    who,
                    naming.right(one.grant.privilege, node.type, node.kind),
                    naming.short_name(node),
                    naming.page_of(node.id, node.type),
                    naming.ends_chip(one.grant.valid_until),
                    extend(node, one),
                )
            )
        return shown

    # What one has

    def own(self) -> list[dict[str, str]]:
        mine = [self.places[key] for key in self.first_owned if key in self.places]
        return [
            {
                "url": naming.page_of(node.id, node.type),
                "name": node.ref.full_name or node.name,
                "note": self._owned_note(node),
            }
            for node in mine
        ]

    def _owned_note(self, node: Node) -> str:
        kind, many = naming.kind_of(node.type), self.inside.get(node.id, 0)
        return f"{kind} with {words.count(many, 'object')}" if many else kind

    def reach(self) -> list[Reach]:
        """One line an object and a way, what one was given directly first."""
        ways: dict[tuple[Any, ...], list[Rule]] = {}
        for rule in self.reached:
            ways.setdefault((rule.object, rule.via, rule.allow), []).append(rule)
        found = []
        for (key, _, _), rules in sorted(ways.items(), key=lambda way: (len(way[0][1]), str(way[0][0]))):
            node = self.places.get(key)
            if node:
                found.append(self._line(node, rules))
        return found[:REACH]

    def _line(self, node: Node, rules: Sequence[Rule]) -> Reach:
        labels = dict.fromkeys(naming.right(rule.privilege, node.type, node.kind) for rule in rules)
        can = naming.sentence_list(list(labels))
        face = Face("thing", naming.icon_of(node.type))
        above = " / ".join(node.names[:-1]) or naming.kind_of(node.type)
        ends = [rule.valid_until for rule in rules if rule.valid_until]
        return Reach(
            Who(node.name, face, above, naming.page_of(node.id, node.type)),
            can if rules[0].allow else "Nothing",
            naming.path(rules, node, self.groups),
            naming.ends_chip(min(ends)) if ends else None,
        )

    # Numbers and words

    def tiles(self) -> list[Tile]:
        if not self.owned:
            return []
        next_ = self.endings[0].grant.valid_until if self.endings else None
        ended = words.moment(next_) if next_ else "none before then"
        behind = [line for line in self.backends if line.state.kind != "ok"]
        good = f"{words.number(len(self.backends) - len(behind))} of {words.number(len(self.backends))}"
        shown = [
            Tile("Objects you own", words.number(len(self.owned)), "with all that is below them"),
            Tile(
                "Grants that end within 14 days",
                words.number(len(self.endings)),
                f"next: {ended}" if self.endings else ended,
            ),
            Tile(
                "Foreign grants on what you own",
                words.number(len(self.foreign)),
                "left as they are until you decide",
                reverse("console:sync") + "?s=foreign",
            ),
        ]
        state = (
            State("behind", f"{words.count(len(behind), 'backend')} to look at")
            if behind
            else State("ok", "In sync")
        )
        return (
            [*shown, Tile("Backends in sync", good, url=reverse("console:sync"), state=state)]
            if self.backends
            else shown
        )

    def heading(self) -> str:
        return waiting.heading(self.areas, len(self.here))

    def lead(self) -> str:
        leads = [area.waits.lead for area in self.areas if area.waits.lead]
        if leads:
            return " ".join(leads)
        if not self.realms:
            return "No realm has admitted you yet. The owner of a realm, or whoever runs this site, can."
        names = words.listed([realm.name for realm in self.realms])
        owned = f"You own {words.count(len(self.owned), 'object')}" if self.owned else "You own nothing here"
        return f"{owned}; you are a member of {names}."


def _nearest(node: Node, owned: Collection[int]) -> Node:
    """The nearest of an object and those above it that is owned; itself when none is."""
    return next((one for one in (node, *reversed([*node.above()])) if one.id in owned), node)


def extend(node: Node, one: Ending) -> Action:
    asked = {"who": str(one.holder) if one.holder else "", "may": one.grant.privilege, "until": "month"}
    url = f"{reverse('console:grant', args=[node.id])}?{urlencode(asked)}"
    return Action("Extend", url, "mini", more=f"for {one.holder.label} on {node.name}" if one.holder else "")


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """The first page after signing in."""
    desk = Desk(asker_of(request))
    latest = history.page(Filter(kinds=record.ABOUT_ACCESS), desk.sight, limit=5, lines=record.LINES)
    context = {
        "heading": desk.heading(),
        "lead": desk.lead(),
        "actions": [desk.step()],
        "tiles": desk.tiles(),
        "waiting": desk.waiting,
        "nothing_waits": Empty(
            "All is done",
            "Grants that end soon, grants made by others, and backends that fall behind will stand here.",
        ),
        "ending": desk.ending(),
        "owned": desk.own(),
        "reach": desk.reach(),
        "latest": record.timeline(record.rows(latest.entries)[:6]),
        "latest_heading": "Latest on what you own" if desk.owned else "Latest about you",
    }
    realm = desk.realms[0].name if len(desk.realms) == 1 else ""
    context["new_site"] = first.note(desk.asker) if admins.may(request) else None
    return page(request, "console/home.html", context, room="home", realm=realm, revision=revision_now())
