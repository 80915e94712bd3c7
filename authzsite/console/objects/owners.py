"""Owners: what belongs to whom, to nobody, or to who cannot sign in; handing over many objects at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import KeysetPage, keyset_page, page_bounds
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Action, Count, Diff, DiffLine, Empty, Face, Note, Tally, Who
from authzsite.console.kit.display.tables import Column, Table, Tick, in_chunks
from authzsite.console.kit.forms import REASON_HELP, ConsoleForm, PrincipalField, ReasonField
from authzsite.console.kit.http import Request, number_in, numbers_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, somebody
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal
from authzsite.console.lists.shown import ShownList
from authzsite.downloads.csv_file import CHUNK
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions import ownership
from policies.decisions.lookups.visible_objects import admitted
from policies.decisions.ownership import GONE, NOBODY, OwnershipFilter
from policies.record import access_log
from policies.services import owners
from policies.services.grants import revision_now
from policies.simulation.changes import SetOwner

LISTED, BATCH, LOOKED = 100, 200, 5000
TYPES = ("catalog", "schema", "table", "view", "topic", "fileset", "model", "function", "role")
HOWS = (
    ("", gettext_lazy("All with an owner")),
    (NOBODY, gettext_lazy("Without an owner")),
    (GONE, gettext_lazy("Owner cannot sign in")),
)


@dataclass(frozen=True)
class Chosen:
    """The objects that an address asks for, in one realm of the viewer's."""

    circle: VisiblePrincipals
    data: QueryDict

    @cached_property
    def realms(self) -> list[Node]:
        return [realm for realm in self.circle.realms if realm.type == "metalake"]

    @cached_property
    def root(self) -> Node | None:
        wanted = self.data.get("in", "")
        named = [realm for realm in self.realms if str(realm.id) == wanted]
        return next(iter([*named, *([] if wanted else self.realms)]), None)

    @cached_property
    def of(self) -> Principal | None:
        """The owner asked about, if the viewer may know them or sees something that is theirs."""
        text = self.data.get("of", "").strip()[:300]
        if not text or self.root is None:
            return None
        owners = ownership.owners_in(self.root, self.circle.sight.objects)
        meant = self.circle.meant(text)
        return meant[0] if len(meant) == 1 else somebody(text, owners)

    @cached_property
    def asked(self) -> OwnershipFilter | None:
        how, type_ = self.data.get("how", ""), self.data.get("type", "")
        if self.root is None or (self.data.get("of", "").strip() and self.of is None):
            return None
        return OwnershipFilter(
            self.root,
            self.of,
            how if how in dict(HOWS) else "",
            type_ if type_ in TYPES else "",
            self.data.get("q", "").strip()[:255],
            tuple(numbers_in(self.data.getlist("o")[:1000])),
        )

    @cached_property
    def rows(self) -> Any:
        if self.asked is None:
            return []
        return ownership.places(self.asked, self.circle.sight.objects)

    def page(self, after: int | None) -> KeysetPage[Any]:
        """A page of those that stand behind the one of that number in the list."""
        if not self.asked:
            return KeysetPage([], after, 0)
        return keyset_page(self.rows, ownership.ORDER, after, LISTED)

    def url(self, **changed: object) -> str:
        kept = {name: self.data.get(name, "") for name in ("in", "of", "how", "type", "q", "view")} | changed
        return "?" + urlencode({name: value for name, value in kept.items() if value})

    def words(self) -> str:
        """What is listed, as a sentence's subject."""
        if self.of is not None:
            return _("of %(label)s") % {"label": self.of.label}
        return {NOBODY: _("without an owner"), GONE: _("whose owner cannot sign in")}.get(
            self.data.get("how", ""), ""
        )


@dataclass(frozen=True)
class OwnerRow:
    """An object, its owner, and whether the viewer may hand it over."""

    node: Node
    owner: Principal | None
    settable: bool

    @property
    def who(self) -> Who:
        node = self.node
        place = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
        return Who(
            node.name, Face("thing", terms.icon_of(node.type)), place, terms.page_of(node.id, node.type)
        )

    @property
    def owned_by(self) -> OwnerCell:
        owner = self.owner
        url = reverse("console:person", args=[owner.pk]) if owner else ""
        note = "" if self.settable else _("you cannot hand these over")
        return OwnerCell(terms.who(owner, owner.name, url) if owner else None, note)


@dataclass(frozen=True)
class OwnerCell:
    template: ClassVar[str] = "console/objects/owner_cell.html"
    who: Who | None
    note: str


TABLE: Table[OwnerRow] = Table(
    gettext_lazy("Objects and their owners"),
    (
        Column(
            gettext_lazy("Choose"),
            lambda row: Tick("o", row.node.id, row.node.name, locked=not row.settable),
            width="tick",
        ),
        Column(
            gettext_lazy("Object"),
            lambda row: row.who,
            {"object": lambda row: row.node.ref.id, "type": lambda row: row.node.type},
        ),
        Column(
            gettext_lazy("Owner"),
            lambda row: row.owned_by,
            {
                "owner": lambda row: row.owner or "",
                "shown as": lambda row: row.owner.label if row.owner else "",
            },
        ),
        Column(gettext_lazy("Type"), lambda row: terms.kind_of(row.node.type), code="type", at_first=False),
        Column(
            gettext_lazy("Full name"), lambda row: row.node.ref.full_name, code="full_name", at_first=False
        ),
    ),
    code="owners",
)


# The list


@reads
@login_required
def owner_list(request: Request) -> HttpResponse:
    """The objects that the viewer may know of, by owner."""
    chosen = Chosen(circle_of(request), request.GET)
    owner_page = chosen.page(number_in(request.GET.get("after", "")))
    shown = ownership.in_order(owner_page.rows)
    csv, listed = reverse("console:owners_csv") + chosen.url(), ShownList.of(request, TABLE)
    context = {
        "heading": _("Owners"),
        "lead": _(
            "Owners grant access to their objects and everything inside. Each object needs an active one."
        ),
        "actions": [],
        "asked": chosen.asked,
        "of": chosen.data.get("of", "")[:300],
        "of_problem": ""
        if chosen.of or not chosen.data.get("of", "").strip()
        else _("Nobody has that name."),
        "realms": chosen.realms,
        "types": TYPES,
        "toggles": _toggles(chosen),
        "table": listed.page(_rows(shown, owners.settable(shown, chosen.circle.asker))),
        "options": listed.options(),
        "kept_view": listed.kept,
        "hand_over_url": reverse("console:owners_hand_over"),
        "kept": [(name, chosen.data.get(name, "")) for name in ("of", "how", "type", "q")],
        "pager": owner_page.pager(_span(shown), lambda after: chosen.url(after=after), csv),
        "empty": _empty(chosen),
    }
    realm = chosen.root.name if chosen.root else ""
    return page(
        request,
        "console/objects/owners.html",
        context,
        section="people",
        realm=realm,
        revision=revision_now(),
    )


def _span(shown: Sequence[Node]) -> str:
    return (
        _("The highest first: %(name)s") % {"name": page_bounds(shown[0].name, shown[-1].name)}
        if shown
        else ""
    )


def _toggles(chosen: Chosen) -> tuple[Toggle, ...]:
    if chosen.asked is None or not chosen.circle.gives_access:
        return ()
    offered = []
    for code, word in HOWS:
        current = chosen.asked.how == code and chosen.of is None
        if not code:
            offered.append(Toggle(word, chosen.url(how="", of=""), current))
            continue
        many = ownership.places(
            OwnershipFilter(chosen.asked.root, how=code), chosen.circle.sight.objects
        ).count()
        if many or current:
            offered.append(Toggle(word, chosen.url(how=code, of=""), current, words.number(many)))
    return tuple(offered)


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """What the viewer may know of by owner, to its end."""
    chosen = Chosen(circle_of(request), request.GET)
    if chosen.root and chosen.circle.gives_access:
        access_log.looked(chosen.circle.asker, "owners as a file", chosen.root, via="console")
    places = chosen.rows.iterator(CHUNK) if chosen.asked else ()
    return TABLE.file("owners", in_chunks(places, lambda some: _rows(ownership.in_order(some))))


def _rows(shown: Sequence[Node], settable: Iterable[bool] = repeat(True)) -> list[OwnerRow]:
    owned_by = ownership.owners_of([node.id for node in shown])
    return [OwnerRow(node, owned_by.get(node.id), yes) for node, yes in zip(shown, settable, strict=False)]


def _empty(chosen: Chosen) -> Empty:
    if not chosen.circle.gives_access:
        return Empty(_("You cannot hand over anything here"), _("Only owners see this list."), level=2)
    if chosen.data.get("how") in (NOBODY, GONE):
        return Empty(_("Everything has an active owner"), level=2)
    return Empty(_("Nothing matches"), drawn=False, actions=(Action(_("Show all"), "?"),), level=2)


# Handing over


@dataclass(frozen=True)
class HandOver:
    """What is to be handed over to whom, and what of it is not the viewer's to hand over."""

    chosen: Chosen
    to: Principal | None

    @cached_property
    def all(self) -> list[Node]:
        return ownership.in_order(list(self.chosen.rows[:LOOKED]))

    @cached_property
    def before(self) -> dict[int, Principal]:
        return ownership.owners_of([node.id for node in self.all])

    @cached_property
    def _may(self) -> list[bool]:
        return owners.settable(self.all, self.chosen.circle.asker)

    @cached_property
    def mine(self) -> list[Node]:
        """Those that would get another owner by it."""
        new = self.to.pk if self.to else None
        before = {key: owner.pk for key, owner in self.before.items()}
        pairs = zip(self.all, self._may, strict=True)
        return [node for node, yes in pairs if yes and before.get(node.id) != new]

    @cached_property
    def not_mine(self) -> list[Node]:
        return [node for node, yes in zip(self.all, self._may, strict=True) if not yes]

    @property
    def many(self) -> str:
        return words.count(len(self.mine), "object")

    def tally(self) -> Tally:
        counts = [
            Count(
                words.number(len(self.mine)),
                ngettext("changes owner", "change owner", len(self.mine)),
                "gain",
            )
        ]
        if self.not_mine:
            counts.append(Count(words.number(len(self.not_mine)), _("that you cannot hand over")))
        return Tally(tuple(counts))

    def diff(self) -> Diff | None:
        if self.to is None:
            return None
        lines = []
        for owner, some in self._by_owner():
            text = _("no longer owns %(some)s") % {"some": words.count(len(some), "object")}
            lines.append(DiffLine("lose", owner.label, text, _names(some)))
        if self.mine:
            rest = _(
                "May do everything with them and everything inside, grant access to them, and hand them over."
            )
            lines.append(
                DiffLine(
                    "gain", self.to.label, _("becomes the owner of %(many)s") % {"many": self.many}, rest
                )
            )
            unowned = [node for node in self.mine if node.id not in self.before]
            if unowned:
                what = words.count(len(unowned), "object")
                lines.append(DiffLine("same", what, _("had no owner of their own"), _names(unowned)))
        if self.not_mine:
            what = f"{words.count(len(self.not_mine), 'object')}"
            lines.append(
                DiffLine(
                    "same", what, _("stay as they are: you cannot hand these over"), _names(self.not_mine)
                )
            )
        return Diff(tuple(lines) or (DiffLine("same", self.to.label, _("owns all of this already")),))

    def _by_owner(self) -> list[tuple[Principal, list[Node]]]:
        owned: dict[int, tuple[Principal, list[Node]]] = {}
        for node in self.mine:
            owner = self.before.get(node.id)
            if owner is not None:
                owned.setdefault(owner.pk, (owner, []))[1].append(node)
        return sorted(owned.values(), key=lambda pair: -len(pair[1]))


def _names(some: Sequence[Node]) -> str:
    return words.listed([node.ref.full_name or node.name for node in some], 12)


class HandOverForm(ConsoleForm):
    """To whom, why, and how many objects were handed over by this form before."""

    who = PrincipalField(at_most=1)
    reason = ReasonField(help_text=REASON_HELP)

    @property
    def done(self) -> int:
        return number_in(self.data.get("done", "")) or 0


class HandOverView(ChangeView):
    """To whom, what changes, why; then it is done, so many objects a change, with how far it is."""

    template_name = "console/kit/planned.html"
    looks_first = True

    def get_object(self) -> Chosen:
        chosen = Chosen(circle_of(self.request), self.request.GET)
        if chosen.root is None or not chosen.circle.gives_access:
            raise Http404
        self.root = chosen.root
        return chosen

    def make_form(self, data: Any) -> HandOverForm:
        form = HandOverForm(data)
        form.fields["who"].among(lambda text: admitted(self.root, text), self.root.name)
        chosen = form["who"].chosen
        self.hand_over = HandOver(self.object, chosen[0] if chosen else None)
        return form

    def plan(self, form: HandOverForm) -> Plan:
        notes: tuple[Note, ...] = ()
        if len(self.hand_over.all) >= LOOKED:
            text = _("It works in batches of %(looked)s; come back for the rest.") % {
                "looked": words.number(LOOKED)
            }
            notes = (Note("warn", _("That is a large number of objects."), text),)
        if self.hand_over.to is None:
            text = _("Enter a person or a group of the realm. A group stays when people leave.")
            return Plan(empty=text, notes=notes)
        return Plan(diff=self.hand_over.diff(), tally=self.hand_over.tally(), notes=notes)

    def proposals(self, form: HandOverForm) -> Iterable[Proposal]:
        to = self.hand_over.to
        if to is not None:
            yield self.root, [SetOwner(node, to) for node in self.hand_over.mine]

    def form_valid(self, form: HandOverForm) -> HttpResponse:
        mine = self.hand_over.mine
        self.batch, self.rest, self.done = mine[:BATCH], mine[BATCH:], form.done + len(mine[:BATCH])
        self.reason = form.cleaned_data["reason"]
        return super().form_valid(form)

    def save(self, form: HandOverForm, actor: Actor) -> None:
        (to,) = form.cleaned_data["who"]
        owners.hand_over(self.batch, to, by=actor, reason=self.reason, now_owned_by=self.object.of)

    def success_message(self, form: HandOverForm) -> str:
        if self.rest:
            return ""
        to, many = form.cleaned_data["who"][0].label, words.count(self.done, "object")
        return (
            _("%(to)s owns %(many)s more") % {"to": to, "many": many}
            if self.done
            else _("Nothing changed for %(to)s") % {"to": to}
        )

    def may_undo(self) -> bool:
        """What was one change may be undone, by whom may take it back."""
        whole = self.batch and self.done == len(self.batch)
        return bool(whole) and all(owners.settable(self.batch, self.asker))

    def get_success_url(self) -> str:
        query = {"of": str(self.hand_over.to), "in": self.root.id}
        return f"{reverse('console:owners')}?{urlencode(query)}"

    def leave(self, address: str) -> HttpResponse:
        return self._progress() if self.rest else super().leave(address)

    def _progress(self) -> HttpResponse:
        left = len(self.rest)
        context = {
            "heading": _("%(done)s of %(count)s handed over")
            % {"done": words.number(self.done), "count": words.count(self.done + left, "object")},
            "text": ngettext(
                "%(left)s is left. This continues by itself; without scripts, use the button.",
                "%(left)s are left. This continues by itself; without scripts, use the button.",
                left,
            )
            % {"left": words.number(left)},
            "done": self.done,
            "total": self.done + left,
            "here": self.request.get_full_path(),
            "to": str(self.hand_over.to),
            "reason": self.reason,
            "nonce": ConsoleForm().nonce,
            "next": words.number(min(left, BATCH)),
        }
        return page(self.request, "console/objects/owners_progress.html", context, section="people")

    def heading(self, form: HandOverForm) -> str:
        many = words.count(len(self.hand_over.all), "object")
        return (
            _("Hand over %(objects)s %(chosen)s") % {"objects": many, "chosen": self.object.words()}
        ).strip()

    def lead(self) -> str:
        return _("In %(name)s.") % {"name": self.root.name}

    def button(self, form: HandOverForm) -> str:
        to = self.hand_over.to
        return (
            _("Make %(to)s the owner of %(many)s")
            % {"to": terms.principal_name(to), "many": self.hand_over.many}
            if to
            else _("Hand over")
        )

    def back(self) -> str:
        return f"{reverse('console:owners')}{self.object.url()}"

    def page_context(self, form: HandOverForm) -> dict[str, Any]:
        return {"here": self.request.get_full_path()}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="people", status=status)
