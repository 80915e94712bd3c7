"""The grid of a namespace: people and patterns by permissions, as it is and as a form wants it to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.people import BadName, checked_name
from accounts.text import holdable
from authzsite.console.access.reasons import GivingForm
from authzsite.console.herd.context import HerdContext
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Who
from authzsite.console.kit.forms import AT_ONCE, REASON_HELP, ReasonField, TextField
from authzsite.console.kit.http import number_in
from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE, PERMISSIONS
from policies.decisions.lookups.entries import bearers, holders_on
from policies.models import Grant
from policies.requests.rules import Rules, rules_of_grants
from policies.services.entries import Turn

SHOWN = 40
MOST_ROWS = 100
FIRST = 4
"""So many permissions are always shown; the two later ones fold."""
KINDS = ("user", "service", "pattern")


@dataclass(frozen=True)
class Cell:
    """One permission of one holder; `turned` where the form wants it to change."""

    code: str
    label: str
    value: str
    held: bool
    wanted: bool
    ends: Chip | None = None

    @property
    def turned(self) -> bool:
        return self.held != self.wanted


@dataclass(frozen=True)
class GridRow:
    code: str
    who: Who
    cells: tuple[Cell, ...]
    new: bool = False


@dataclass
class Grid:
    """What a form holds of a namespace's entries; `no_holder` says why a name that was typed is none."""

    desk: HerdContext
    place_in_list: QueryDict
    data: QueryDict
    no_holder: str = ""

    # Where in the list

    @cached_property
    def text(self) -> str:
        return self.place_in_list.get("q", "").strip()[:255]

    @cached_property
    def after(self) -> Q:
        """What comes after the last row of the page before, whose number and name stand in the address."""
        key, _, name = self.place_in_list.get("after", "")[:300].partition(":")
        number = number_in(key)
        if number is None or not holdable(name):
            return Q()
        return Q(folded__gt=name) | Q(folded=name, pk__gt=number)

    @cached_property
    def _listed(self) -> list[Principal]:
        """The page's holders and one more; none for viewers who may not review."""
        if not self.desk.may_review:
            return []
        rows = holders_on(self.desk.node, text=self.text, now=self.desk.place.now)
        return list(rows.filter(self.after)[: SHOWN + 1])

    @property
    def listed(self) -> list[Principal]:
        return self._listed[:SHOWN]

    @property
    def next_after(self) -> str:
        last = self.listed[-1] if len(self._listed) > SHOWN else None
        return f"{last.pk}:{getattr(last, 'folded', '')}" if last else ""

    # Columns

    @cached_property
    def wide(self) -> bool:
        folded = self.data.get("fold", "")
        return folded == "more" or (folded != "less" and self.data.get("wide") == "1")

    @property
    def columns(self) -> tuple[str, ...]:
        return ON_NAMESPACE if self.wide else ON_NAMESPACE[:FIRST]

    @cached_property
    def _sent_columns(self) -> tuple[str, ...]:
        """The columns of the form that was sent; cells of others say nothing."""
        return ON_NAMESPACE if self.data.get("wide") == "1" else ON_NAMESPACE[:FIRST]

    # Holders

    @cached_property
    def added(self) -> Principal | None:
        """The principal named in the empty row, if it can be one."""
        name = self.data.get("add", "").strip()
        if not name:
            return None
        try:
            # the holder of an entry under that name in any case; else the user, or the pattern, of that name
            if "/" in name or "\\" in name:
                raise BadName(gettext("a user id cannot contain slashes"))
            principals = bearers(checked_name(name), KINDS)
            given = Grant.objects.open().filter(securable=self.desk.node.id, holder__in=principals)
            entered = {pk for (pk,) in given.values_list("holder")}
            kind = "pattern" if name.startswith("*") else "user"
            ordered = sorted(
                principals,
                key=lambda principal: (
                    principal.pk not in entered,
                    principal.name != name,
                    principal.kind != kind,
                ),
            )
            fitting = [item for item in ordered if item.pk in entered or item.kind == kind]
            return fitting[0] if fitting else Principal(kind=kind, name=name)
        except BadName as problem:
            self.no_holder = f"{str(problem)[:1].upper()}{str(problem)[1:]}."
            return None

    @cached_property
    def sent(self) -> list[Principal]:
        """The holders of the rows that were sent, those not known yet as principals without a number."""
        codes = [code for code in dict.fromkeys(self.data.getlist("row")) if code.partition(":")[2]]
        condition = Q(pk__in=[])
        for code in codes[:MOST_ROWS]:
            kind, _, name = code.partition(":")
            condition |= Q(kind=kind, name=name) if kind in KINDS and "\0" not in name else condition
        by_name = (
            {str(principal): principal for principal in Principal.objects.filter(condition)} if codes else {}
        )
        return [
            row_principal
            for code in codes[:MOST_ROWS]
            if (row_principal := by_name.get(code) or _unknown(code))
        ]

    @cached_property
    def holders(self) -> list[Principal]:
        """The page's holders, then those that the form names."""
        rows = {str(item): item for item in self.listed}
        rows |= {str(item): item for item in self.sent if str(item) not in rows}
        if self.added is not None and str(self.added) not in rows:
            rows[str(self.added)] = self.added
        return list(rows.values())

    # As it is, as it is wanted

    @cached_property
    def held(self) -> Mapping[str, dict[str, Grant]]:
        """The grants of each holder that hold now, by permission; what is wanted is all that is known
        to viewers without review."""
        grants: dict[str, dict[str, Grant]] = {str(holder): {} for holder in self.holders}
        if not self.desk.may_review:
            return grants
        names = {holder.pk: str(holder) for holder in self.holders if holder.pk}
        rows = Grant.objects.open().within(self.desk.place.now)
        for row in rows.filter(securable=self.desk.node.id, holder__in=names):
            mine = grants[names[row.holder_id or 0]]
            if row.privilege not in mine or row.valid_until is None:
                mine[row.privilege] = row
        return grants

    @cached_property
    def _cells(self) -> set[str]:
        return set(self.data.getlist("may"))

    def wanted(self, holder: Principal) -> frozenset[str]:
        code = str(holder)
        held = frozenset(self.held[code])
        ticked = code in self.data.getlist("row")
        wanted = set(held)
        if ticked:
            sent = {column for column in self._sent_columns if f"{column} {code}" in self._cells}
            wanted = sent | {item for item in held if item not in self._sent_columns}
        if self.data.get("clear") == code:
            wanted = set()
        if self.added is not None and code == str(self.added):
            wanted |= self.added_codes
        return frozenset(wanted)

    @cached_property
    def added_codes(self) -> set[str]:
        return {code for code in self.data.getlist("add_may") if code in ON_NAMESPACE}

    @cached_property
    def turns(self) -> list[Turn]:
        """Only what differs; rows that differ in nothing are left out."""
        rows = ((holder, self.wanted(holder), frozenset(self.held[str(holder)])) for holder in self.holders)
        return [Turn(holder, wanted - held, held - wanted) for holder, wanted, held in rows if wanted != held]

    def rows(self) -> list[GridRow]:
        new = {str(holder) for holder in self.holders} - {str(item) for item in self.listed}
        return [self._row(holder, new=str(holder) in new) for holder in self.holders if self._shown(holder)]

    def _shown(self, holder: Principal) -> bool:
        """A row that was only named, and is wanted to hold nothing, goes."""
        return holder in self.listed or bool(self.held[str(holder)] or self.wanted(holder))

    def _row(self, holder: Principal, *, new: bool) -> GridRow:
        code, held, wanted = str(holder), self.held[str(holder)], self.wanted(holder)
        cells = tuple(
            Cell(
                column,
                gettext(PERMISSIONS[column].label),
                f"{column} {code}",
                column in held,
                column in wanted,
                terms.ends_chip(held[column].valid_until) if column in held else None,
            )
            for column in self.columns
        )
        later = [gettext(PERMISSIONS[item].label) for item in wanted if item not in self.columns]
        also = (
            gettext("also %(listed)s")
            % {"listed": words.listed([terms.lower(item) for item in sorted(later)])}
            if later
            else ""
        )
        note = "; ".join(filter(None, (note_of(holder), also)))
        url = user_url(self.desk, holder.name) if self.desk.is_data_owner else ""
        return GridRow(code, terms.who(holder, note, url), cells, new)

    @property
    def problem(self) -> str:
        """Why the one named in the empty row cannot be added."""
        if self.added is not None and not self.added_codes:
            return gettext("Choose at least one permission for %(label)s.") % {"label": self.added.label}
        return self.no_holder


class GridForm(GivingForm):
    """The grid as a form: the entries that are wanted, somebody new, and why."""

    takes_too = True

    add = TextField(required=False)
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(
        self, data: Any = None, *, desk: HerdContext, place_in_list: QueryDict, **kwargs: Any
    ) -> None:
        super().__init__(data, **kwargs)
        self.grid = Grid(desk, place_in_list, self.data)
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_grants([self.grid.desk.node])

    @property
    def gives(self) -> bool:
        return any(turn.gives for turn in self.grid.turns)

    def clean(self) -> dict[str, Any]:
        if self.grid.problem:
            code = AT_ONCE if self.grid.no_holder else "incomplete"
            self.add_error("add", ValidationError(self.grid.problem, code=code))
        return self.cleaned_data


def note_of(holder: Principal) -> str:
    """What a row says under a name: whom a pattern speaks of, or the user id behind a name."""
    if holder.kind == Principal.Kind.PATTERN:
        return everybody_like(holder.name)
    if holder.kind == Principal.Kind.SERVICE:
        return "service"
    return holder.name if holder.label != holder.name else ""


def everybody_like(pattern: str) -> str:
    """everybody; everybody whose user id ends with @corp"""
    return (
        gettext("everyone whose user id ends with %(pattern)s") % {"pattern": pattern[1:]}
        if pattern[1:]
        else "everybody"
    )


def user_url(desk: HerdContext, name: str) -> str:
    return f"{reverse('console:herd_user', args=[desk.herd.id])}?{urlencode({'id': name})}"


def _unknown(code: str) -> Principal | None:
    kind, _, name = code.partition(":")
    if kind not in ("user", "pattern") or (kind == "pattern") != name.startswith("*"):
        return None
    try:
        return Principal(kind=kind, name=checked_name(name)) if "/" not in name else None
    except BadName:
        return None
