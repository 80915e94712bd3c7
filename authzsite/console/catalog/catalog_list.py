"""What lies in a container, as its list asks for it: filtered, by letter, fifty at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import CharField, Count, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Collate, Left, Upper
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.catalog.tree import SHOWN, after, inside, mark_of, shown_types
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Letter, Letters, Pager, Toggle
from authzsite.console.lists.shown import ShownList
from authzsite.console.objects.access import ObjectAccess
from catalog.models import Placement
from catalog.nodes import any_of
from catalog.queries import holds
from policies.models import Ownership

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OTHERS = 14
"""So many letters beyond the alphabet have a bar of their own."""
TALL = 20
LONGEST = 255
HOW = (("", gettext_lazy("All")), ("mine", gettext_lazy("Yours")), ("ownerless", gettext_lazy("No owner")))


@dataclass
class CatalogList:
    """One list; all that was asked of it stands in its address."""

    place: ObjectAccess
    data: QueryDict
    listed: ShownList[Any]

    @cached_property
    def text(self) -> str:
        typed = self.data.get("q", "").strip()[:LONGEST]
        return typed.replace("\0", "\N{SYMBOL FOR NULL}")

    @cached_property
    def type(self) -> str:
        typed = self.data.get("type", "")
        return typed if typed in shown_types(self.place.node) else ""

    @cached_property
    def how(self) -> str:
        typed = self.data.get("how", "")
        return typed if typed in dict(HOW) else ""

    @property
    def filtered(self) -> bool:
        return bool(self.text or self.type or self.how)

    def url(self, **changed: str) -> str:
        return self.listed.url(**{"q": self.text, "type": self.type, "how": self.how, **changed})

    @cached_property
    def rows(self) -> QuerySet[Any]:
        """All that was asked for, by name, whatever page one is on."""
        rows = inside(self.place, self.type)
        if self.how == "mine":
            owned = [key for key, bits in self.place.slice.bits.items() if bits.owned]
            rows = rows.filter(any_of("securable_id", owned))
        if self.how == "ownerless":
            rows = rows.exclude(Exists(Ownership.objects.open().filter(securable=OuterRef("securable"))))
        return rows.filter(holds(self.text)) if self.text else rows

    @cached_property
    def page(self) -> list[Placement]:
        """The rows of this page, and one more where others follow."""
        rows = self.rows.filter(after(self.data.get("after", "")))
        letter = self.data.get("from", "")[:1]
        if letter and letter != "\0":
            rows = rows.filter(folded__gte=Collate(Upper(Value(letter)), "C"))
        return list(rows[: SHOWN + 1])

    @property
    def shown(self) -> list[Placement]:
        return self.page[:SHOWN]

    @cached_property
    def by_letter(self) -> dict[str, int]:
        """How many begin with each letter.  One query, which counts them all."""
        first = Left("folded", 1, output_field=CharField())
        rows = self.rows.order_by().annotate(letter=first).values_list("letter")
        return dict(rows.annotate(Count("pk")))

    @property
    def count(self) -> int:
        return sum(self.by_letter.values())

    def count_words(self) -> str:
        many = self.count
        values = {"count": words.number(many), "text": self.text, "name": self.place.node.name}
        if self.text:
            text = ngettext("%(count)s matches “%(text)s”", "%(count)s match “%(text)s”", many)
        elif self.how == "mine":
            text = ngettext(
                "%(count)s object of yours in %(name)s", "%(count)s objects of yours in %(name)s", many
            )
        elif self.how == "ownerless":
            text = ngettext(
                "%(count)s object without an owner in %(name)s",
                "%(count)s objects without an owner in %(name)s",
                many,
            )
        else:
            text = ngettext("%(count)s object in %(name)s", "%(count)s objects in %(name)s", many)
        return text % values

    def letters(self) -> Letters | None:
        """The bars to jump by, where there is more than a page."""
        if self.count <= SHOWN:
            return None
        beyond = sorted(set(self.by_letter) - set(ALPHABET), key=lambda letter: -self.by_letter[letter])[
            :OTHERS
        ]
        tallest = max(self.by_letter.values())
        current = self.shown[0].name[:1].upper() if self.shown else ""
        drawn = (self._letter(item, tallest, current) for item in sorted([*ALPHABET, *beyond]))
        return Letters(tuple(drawn))

    def _letter(self, letter: str, tallest: int, current: str) -> Letter:
        many = self.by_letter.get(letter, 0)
        height = max(2, round(TALL * many / tallest)) if many else 0
        url = self.url(**{"from": letter}) if many else ""
        label = words.count(many, "name")
        return Letter(letter, label, url, height, TALL - height, letter == current)

    def toggles(self) -> Iterable[Toggle]:
        kinds = [type_ for type_ in shown_types(self.place.node) if type_ in ("schema", "table", "view")]
        if len(shown_types(self.place.node)) > 1:
            yield Toggle(_("All kinds"), self.url(type=""), not self.type)
            for kind in kinds:
                yield Toggle(terms.several_first(kind), self.url(type=kind), kind == self.type)
        for how, word in HOW[1:]:
            yield Toggle(word, self.url(how="" if how == self.how else how), how == self.how)

    def pager(self) -> Pager | None:
        last = self.page[SHOWN - 1] if len(self.page) > SHOWN else None
        start = self.url() if self.data.get("after") or self.data.get("from") else ""
        next_ = self.url(after=mark_of(last)) if last else ""
        text = _("No more objects")
        if self.shown:
            text = _("%(name)s to %(name2)s, by name") % {
                "name": self.shown[0].name,
                "name2": self.shown[-1].name,
            }
        return Pager(text, start, next_) if start or next_ else None
