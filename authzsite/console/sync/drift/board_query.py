"""What of the differences somebody asks to see, and in which order: an address that can be passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Case, CharField, Count, F, Func, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.http import number_in
from policies.models import BackendFinding

KINDS = {
    "missing": noop("Missing"),
    "extra": noop("Extra"),
    "foreign": noop("Granted outside"),
    "accepted": noop("Accepted"),
    "unknown": noop("Unknown"),
    "bypass": noop("Bypass"),
}
WEIGHT = Case(
    *[When(kind=kind, then=Value(at)) for at, kind in enumerate(("extra", "missing", "foreign", "unknown"))],
    default=Value(9),
)
"""What wants a decision stands first, what nobody can change last."""
ORDERS = {
    "": (noop("By state"), ("weight", "place", "holder", "what")),
    "holder": (noop("By holder"), ("holder", "weight", "place", "what")),
    "object": (noop("By object"), ("place", "weight", "holder", "what")),
    "newest": (noop("Newest first"), ("latest",)),
}


@dataclass(frozen=True)
class BoardQuery:
    """Of one kind, in one backend, about a text; from behind the finding numbered `after`."""

    kind: str = ""
    text: str = ""
    backend: int | None = None
    by: str = ""
    after: int | None = None

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> BoardQuery:
        """An unknown kind or order is passed over."""
        kind, by = asked.get("s", ""), asked.get("by", "")
        return cls(
            kind if kind in KINDS else "",
            asked.get("q", "").strip()[:255],
            number_in(asked.get("backend", "")) or None,
            by if by in ORDERS else "",
            number_in(asked.get("from", "")),
        )

    @property
    def narrows(self) -> bool:
        return bool(self.kind or self.text or self.backend)

    @property
    def order(self) -> Sequence[str]:
        return ORDERS[self.by][1]

    def parameters(self, **changed: object) -> str:
        values = {"s": self.kind, "q": self.text, "backend": self.backend, "by": self.by, **changed}
        return urlencode({name: value for name, value in values.items() if value})

    def url(self, **changed: object) -> str:
        return f"?{self.parameters(**changed)}"

    def matching(self, rows: QuerySet[BackendFinding]) -> QuerySet[BackendFinding]:
        """Of every kind, about the text and in the backend."""
        if self.backend is not None:
            rows = rows.filter(backend=self.backend)
        if not self.text:
            return rows
        members = Func(F("people"), Value(" "), function="array_to_string", output_field=CharField())
        about = Q(holder__icontains=self.text) | Q(place__icontains=self.text)
        if below := self.text.partition(".")[
            2
        ]:  # a full name begins with the catalog, which a place leaves out
            about |= Q(place__istartswith=below)
        return rows.annotate(members=members).filter(about | Q(members__icontains=self.text))

    def rows(self, rows: QuerySet[BackendFinding]) -> QuerySet[BackendFinding]:
        """What is accepted for now is a kind of its own."""
        rows = self.matching(rows)
        accepted = Q(accepted_until__gt=timezone.now())
        if self.kind == "accepted":
            return rows.filter(accepted)
        return rows.filter(kind=self.kind).exclude(accepted) if self.kind else rows

    def in_order(self, rows: QuerySet[BackendFinding]) -> QuerySet[BackendFinding]:
        """With the columns that it is in order of; findings are numbered as they were first seen."""
        return self.rows(rows).annotate(weight=WEIGHT, latest=-F("pk"))

    def toggles(self, rows: QuerySet[BackendFinding]) -> tuple[Toggle, ...]:
        """How many there are of each kind.  One query."""
        accepted = When(accepted_until__gt=timezone.now(), then=Value("accepted"))
        shown_as = Case(accepted, default=F("kind"), output_field=CharField())
        many = self.matching(rows).order_by().annotate(shown_as=shown_as).values_list("shown_as")
        counts = dict(many.annotate(Count("pk")))
        if len(counts) < 2 and not self.kind:
            return ()
        every = Toggle(_("All"), self.url(s=""), not self.kind, words.number(sum(counts.values())))
        return (
            every,
            *(
                Toggle(_(word), self.url(s=kind), self.kind == kind, words.number(counts.get(kind, 0)))
                for kind, word in KINDS.items()
                if kind in counts or kind == self.kind
            ),
        )

    def orders(self) -> list[tuple[str, str]]:
        return [(code, _(label)) for code, (label, _columns) in ORDERS.items()]
