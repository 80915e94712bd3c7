"""What somebody fills in to give access, read from an address or a form, and checked."""

from __future__ import annotations

from functools import cached_property

from django.db.models import QuerySet
from django.http import QueryDict

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.inputs.dates import When
from authzsite.console.kit.inputs.principal_picker import Choosing
from authzsite.console.objects.access import Place
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects import Privilege
from policies.decisions.lookups.visible_objects import givable
from policies.services.grants import GrantRequest
from policies.services.roles import catalog_kind

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
        leaf = self.node.type not in terms.CONTAINERS
        return reading[:1] if leaf else [one.code for one in self.rights if one.category == "use"][-1:]

    # From and until

    @cached_property
    def when(self) -> When:
        return When(self.data)

    # The rest

    @property
    def wish(self) -> GrantRequest | None:
        """The wish, as soon as there is somebody to give something to."""
        if not self.chosen or not self.may or not self.when.whole:
            return None
        return GrantRequest(self.node, tuple(self.chosen), self.may, self.when.begin, self.when.end)

    def check(self) -> bool:
        """Whether it can be saved; else the problems are named."""
        self.check_who()
        if not self.may:
            self.problems["may"] = "Choose at least one right."
        self.problems |= self.when.check()
        return not self.problems

    # In words

    def button(self) -> str:
        """Grant read until Friday"""
        if not self.may:
            return "Grant access"
        labels = [terms.right(code, self.node.type, self.node.kind) for code in self.may]
        what = words.listed([terms.lower(label) for label in labels], 3)
        return f"Grant {what} {self.when.words()}".strip()
