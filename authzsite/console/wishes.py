"""What somebody fills in to give access, read from an address or a form, and checked."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.models import Principal
from authzsite.console import naming, words
from authzsite.console.choosing import Choosing
from authzsite.console.place import Place
from catalog.nodes import Node
from lakewarden import dialects
from lakewarden.dialects import Privilege
from policies.queries import givable
from policies.services.grants import Wish
from policies.services.roles import catalog_kind

ENDS = ("friday", "month", "date", "never")
ORDER = ("use", "read", "write", "create", "manage")


class Draft(Choosing):
    """A wish in the making; `problems` name, by field, why it cannot be saved."""

    def __init__(self, place: Place, data: QueryDict):
        super().__init__(data)
        self.place = place

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def root(self) -> Node:
        return next(iter(self.node.above()), self.node)

    # Who

    def candidates(self, text: str = "") -> QuerySet[Principal]:
        return givable(self.root, text)

    def nobody(self) -> str:
        return f"Nobody of that name is in {self.node.realm}. Its owner can add them first."

    # May

    @cached_property
    def rights(self) -> list[Privilege]:
        """What can be given on such an object, plainest first."""
        law, kind = dialects.get(self.node.kind), catalog_kind(self.node)
        fitting = [one for one in law.privileges.values() if not law.bindable(one.code, self.node.type, kind)]
        return sorted(fitting, key=lambda one: (ORDER.index(one.category), one.bit))

    @cached_property
    def may(self) -> tuple[str, ...]:
        known = {one.code for one in self.rights}
        asked = [code for code in dict.fromkeys(self.data.getlist("may")) if code in known]
        return tuple(asked) if asked or "nonce" in self.data else tuple(self._usual())

    def _usual(self) -> list[str]:
        reading = [one.code for one in self.rights if one.category == "read"]
        leaf = self.node.type not in naming.CONTAINERS
        return reading[:1] if leaf else [one.code for one in self.rights if one.category == "use"][-1:]

    # Until

    @cached_property
    def until(self) -> str:
        asked = self.data.get("until", "")
        return asked if asked in ENDS else "friday"

    @cached_property
    def end(self) -> datetime | None:
        """The moment it ends, None for never or for a date that is no date."""
        if self.until == "friday":
            return words.next_friday()
        if self.until == "month":
            return (timezone.localtime() + timedelta(days=30)).replace(
                hour=18, minute=0, second=0, microsecond=0
            )
        return self._date() if self.until == "date" else None

    def _date(self) -> datetime | None:
        try:
            typed = parse_datetime(self.data.get("date", ""))
        except ValueError:
            return None
        if typed is None or not datetime.min.year < typed.year < datetime.max.year:
            return None  # the zones of the first and the last year lead out of the calendar
        return typed if timezone.is_aware(typed) else timezone.make_aware(typed)

    # The rest

    @property
    def wish(self) -> Wish | None:
        """The wish, as soon as there is somebody to give something to."""
        if not self.chosen or not self.may or (self.until == "date" and self.end is None):
            return None
        return Wish(self.node, tuple(self.chosen), self.may, valid_until=self.end)

    def check(self) -> bool:
        """Whether it can be saved; else the problems are named."""
        self.check_who()
        if not self.may:
            self.problems["may"] = "Choose at least one right."
        if self.until == "date" and (self.end is None or self.end <= timezone.now()):
            self.problems["date"] = "Give a date and a time that are still to come."
        return not self.problems

    # In words

    def button(self) -> str:
        """Grant read until Friday"""
        if not self.may:
            return "Grant access"
        labels = [naming.right(code, self.node.type, self.node.kind) for code in self.may]
        what = words.listed([naming.lower(label) for label in labels], 3)
        return f"Grant {what} {self.end_words()}".strip()

    def end_words(self) -> str:
        told = {"friday": "until Friday", "month": "for 30 days", "never": "without end"}
        if self.until in told:
            return told[self.until]
        return f"until {words.moment(self.end)}" if self.end else ""
