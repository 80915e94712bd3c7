"""The form that gives access: who, which rights, from when and until when, why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.access.reasons import GivingForm
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.forms import (
    REASON_HELP,
    ChoicesField,
    PrincipalField,
    ReasonField,
)
from authzsite.console.kit.moment_fields import (
    WindowField,
)
from authzsite.console.objects.access import ObjectAccess
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects import Privilege
from policies.decisions.lookups.visible_objects import givable
from policies.requests.rules import Rules, rules_of_grants
from policies.services.grants import GrantRequest
from policies.services.roles import catalog_kind

ORDER = ("use", "read", "write", "create", "manage")
"""The categories of privileges, plainest first."""


def privileges_for(node: Node) -> list[Privilege]:
    """What can be given on an object, plainest first."""
    law, kind = dialects.get(node.kind), catalog_kind(node)
    fitting = [
        privilege
        for privilege in law.privileges.values()
        if not law.bindable(privilege.code, node.type, kind)
    ]
    return sorted(fitting, key=lambda privilege: (ORDER.index(privilege.category), privilege.bit))


def usual_privileges(node: Node, privileges: Sequence[Privilege]) -> list[str]:
    """What is ticked at first: to read a table, to use what tables are in."""
    if node.type in terms.CONTAINERS:
        return [privilege.code for privilege in privileges if privilege.category == "use"][-1:]
    return [privilege.code for privilege in privileges if privilege.category == "read"][:1]


class PrivilegesField(ChoicesField):
    """The rights that are to be given on an object, or on each of several."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=gettext_lazy("May"),
            error_messages={"required": gettext_lazy("Choose at least one right.")},
            **kwargs,
        )

    def offer_on(self, node: Node, privileges: Sequence[Privilege], *, called: str = "") -> None:
        """Offer what can be given on an object; in the texts it is `called` so."""
        name = called or node.name
        self.offer(
            (
                privilege.code,
                terms.right(privilege.code, node.type, node.kind),
                _meaning(privilege, node, name),
            )
            for privilege in privileges
        )
        self.initial = usual_privileges(node, privileges)


def _meaning(privilege: Privilege, node: Node, name: str) -> str:
    """What the right lets one do, on this very object or on everything of a kind in it."""
    leaf = next((type_ for type_ in privilege.binds if type_ not in terms.CONTAINERS), "")
    if node.type in terms.CONTAINERS and privilege.category in ("read", "write") and leaf:
        what = _(privilege.description.replace(f"the {leaf}", f"every {leaf}"))
        return _("%(what)s in %(name)s, including those created later") % {"what": what, "name": name}
    return _(privilege.description)


class RecipientForm(GivingForm):
    """To whom something on an object is to be given: people and groups of its realm."""

    who = PrincipalField(
        help_text=gettext_lazy(
            "Type a name and press Enter. Choose a person for a short need, a group for a lasting one."
        )
    )

    def __init__(self, data: Any = None, *, node: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.node = node
        root = next(iter(node.above()), node)
        self.fields["who"].among(lambda text: givable(root, text), node.realm)


class GrantForm(RecipientForm):
    """Access to one object, or to several of one realm as one change."""

    may = PrivilegesField()
    window = WindowField()
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, *, places: Sequence[ObjectAccess], **kwargs: Any) -> None:
        super().__init__(data, node=places[0].node, **kwargs)
        self.places = places
        called = _("each of them") if len(places) > 1 else ""
        # what can be given on every one of the objects
        kinds = {(place.node.type, place.node.names[1:2]): place.node for place in self.places}
        first, *others = [privileges_for(node) for node in kinds.values()]
        privileges = [privilege for privilege in first if all(privilege in other for other in others)]
        self.fields["may"].offer_on(self.node, privileges, called=called)
        self.ask_for_reason()
        if "nonce" not in self.data and not self.fields["may"].to_python(self.data.getlist("may")):
            self.data = self.data.copy()
            self.data.setlist("may", self.fields["may"].initial)

    def rules_of_gift(self) -> Rules:
        return rules_of_grants([place.node for place in self.places])

    @property
    def privileges(self) -> list[str]:
        codes: list[str] = self.fields["may"].to_python(self.data.getlist("may"))
        return codes

    @cached_property
    def wishes(self) -> list[GrantRequest]:
        """What is to be given on each object, as soon as there is somebody to give something to."""
        chosen, window = self["who"].chosen, self["window"].data
        if not chosen or not self.privileges or not window.whole:
            return []
        who, may = tuple(chosen), tuple(self.privileges)
        return [GrantRequest(place.node, who, may, window.begin, window.end) for place in self.places]

    def rights(self) -> list[str]:
        """The rights that are ticked, in words."""
        return [terms.lower(terms.right(code, self.node.type, self.node.kind)) for code in self.privileges]

    def button(self) -> str:
        """Grant read until Fri 4 Dec, on 3 objects"""
        places = words.count(len(self.places), "object") if len(self.places) > 1 else ""
        if not self.privileges:
            return _("Grant access, on %(places)s") % {"places": places} if places else _("Grant access")
        values = {"rights": words.listed(self.rights(), 3), "window": self["window"].data.words()}
        if places:
            return _("Grant %(rights)s %(window)s, on %(places)s") % {**values, "places": places}
        return _("Grant %(rights)s %(window)s") % values
