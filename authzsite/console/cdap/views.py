"""A CDAP: what is given on which names, and what those names match now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.cdap.context import InstanceContext, MatchCounts, desk_at, held_on, noun_of, reaches
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Empty, Face, Fact, Facts, State, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from catalog.models import Mode
from catalog.queries import all_below, mode_of
from lakewarden.law.dialects.cdap.authorizable import TYPES
from policies.models import Grant
from policies.services import patterns

SHOWN = 50
JUDGED = 500
"""Up to so many names it is told which of them match nothing, or more than when given."""


@dataclass(frozen=True)
class NameRow:
    what: Who
    holders: str
    may: str
    state: State


@dataclass
class Names:
    """The names on which something is given, as one page of them."""

    desk: InstanceContext
    text: str
    after: str
    lost: bool

    @property
    def named(self) -> QuerySet[Grant, str]:
        """All that the filter leaves, by name."""
        rows = self.desk.grants().order_by("pattern").values_list("pattern", flat=True).distinct()
        return rows.filter(pattern__icontains=self.text) if self.text else rows

    @cached_property
    def every(self) -> list[str]:
        rows = self.named
        return list((rows.filter(pattern__gt=self.after) if self.after else rows)[: JUDGED + 1])

    @cached_property
    def judged(self) -> dict[str, MatchCounts]:
        """What each name matches, as far as that is told of so many."""
        return reaches(self.desk, self.every[:JUDGED] if self.lost else self.every[:SHOWN])

    @cached_property
    def found(self) -> list[str]:
        """The page and one more."""
        names = [item for item in self.judged if self.judged[item].warning] if self.lost else self.every
        return names[: SHOWN + 1]

    def given(self, some: Sequence[str]) -> dict[str, list[Grant]]:
        """What is given on some of them.  One query."""
        by_text: dict[str, list[Grant]] = {text: [] for text in some}
        for row in self.desk.grants().filter(pattern__in=some).select_related("holder"):
            by_text[row.pattern].append(row)
        return by_text

    def rows(self) -> list[NameRow]:
        return [self._row(text, rows) for text, rows in self.given(self.found[:SHOWN]).items()]

    def _row(self, text: str, rows: list[Grant]) -> NameRow:
        target, held = patterns.named(self.desk.root, text), held_on(self.desk, rows)
        what = Who(text, Face("thing", terms.icon_of(target.type)), url=self.desk.text_url(text))
        holders = words.listed([item.who.name for item in held], 3)
        codes = {code for item in held for code in item.codes}
        return NameRow(what, holders, self.desk.labels(codes), self.judged[text].state(noun_of(target)))

    def url(self, **changed: str) -> str:
        return self.desk.url(**self._asked(**changed)) or "?"

    def _asked(self, **changed: str) -> dict[str, str]:
        query = {"q": self.text, "s": "lost" if self.lost else "", **changed}
        return {name: value for name, value in query.items() if value}

    def toggles(self) -> tuple[Toggle, ...]:
        return (
            Toggle(_("All"), self.url(s=""), not self.lost),
            Toggle(_("To check"), self.url(s="lost"), self.lost),
        )

    def pager(self) -> Pager:
        next_ = self.url(after=self.found[SHOWN - 1]) if len(self.found) > SHOWN else ""
        csv = self.desk.url("instance_csv", **self._asked())
        return Pager(_("By name"), self.url() if self.after else "", next_, csv)


@reads
@login_required
def instance_detail(request: Request, id: int) -> HttpResponse:
    """What is given on which names: everybody's for reviewers, else the viewer's own."""
    names = listed(request, id)
    desk = names.desk
    reason = "" if desk.administers else "why-not-grant"
    context = {
        "heading": desk.root.name,
        "kind": _("CDAP instance"),
        "lead": _("Access granted on names and patterns, and what they match now.")
        if desk.looks
        else _("Your access on names and patterns. Lists show what you may see."),
        "actions": [
            *_making_roles(desk),
            Action(_("Entities"), desk.url("cdap_entities"), "", "schema"),
            Action(_("Grant access"), desk.url("cdap_grant"), "primary", reason=reason, key="a"),
        ],
        "no_grant": desk.no_grant(desk.root.name) if reason else None,
        "facts": _facts(desk),
        "asked": names.text,
        "lost": names.lost,
        "toggles": names.toggles() if desk.looks else (),
        "rows": names.rows(),
        "pager": names.pager(),
        "empty": _empty(desk, names),
    }
    return desk.show(request, "console/cdap/instance.html", context)


def listed(request: Request, id: int) -> Names:
    """The names of the instance of that number, with the filter that the address names.  Raises Http404."""
    text = request.GET.get("q", "").strip()[:255].replace("\0", "")
    after = request.GET.get("after", "")[:2000].replace("\0", "")
    return Names(desk_at(request, id), text, after, request.GET.get("s") == "lost")


def _making_roles(desk: InstanceContext) -> list[Action]:
    if not desk.administers:
        return []
    return [Action(_("Create a role"), f"{reverse('console:role_new')}?in={desk.root.id}", "plain", "role")]


def _facts(desk: InstanceContext) -> Facts:
    settings = desk.realm.settings
    who = desk.administrator
    switched = mode_of(desk.root.realm_id) == Mode.Choice.ON and settings.get("authentication") != "off"
    facts = [
        Fact(_("Rules"), _("CDAP %(settings)s") % {"settings": settings["policy"]}),
        Fact(_("Administrator"), who.label if who else _("Nobody")),
        Fact(_("Admin group"), str(settings.get("admin_group") or _("None"))),
        Fact(_("Master user"), str(settings.get("master_user") or _("None"))),
        Fact(
            _("Enforced"),
            "" if not switched else _("Yes"),
            state=None if switched else State("paused", _("Off")),
        ),
    ]
    facts.append(Fact(_("Pushed to storage"), _("No")))
    if desk.looks:
        many = all_below(desk.root.id).filter(type__in=TYPES).count()
        facts.append(Fact(_("Entities"), words.number(many), desk.url("cdap_entities")))
    return Facts(tuple(facts))


def _empty(desk: InstanceContext, names: Names) -> Empty:
    if names.lost:
        return Empty(
            _("Every name matches what it matched when it was granted"),
            _("Names that match nothing, or more than when they were given, are listed here."),
            drawn=False,
            actions=(Action(_("Show all"), desk.url()),),
        )
    if names.text:
        everything = Action(_("Show all"), desk.url())
        return Empty(
            _("Nothing is granted on “%(text)s”") % {"text": names.text}, drawn=False, actions=(everything,)
        )
    if desk.looks:
        how = _("Rights are granted on names, exact or with * and ?, whether or not the entity exists yet.")
        return Empty(
            _("Nothing is granted here yet"), how if desk.by_pattern else _("Rights are granted on entities.")
        )
    return Empty(
        _("You have no access here yet"),
        _("Access is granted by %(granting_words)s.") % {"granting_words": desk.granting_words()},
    )
