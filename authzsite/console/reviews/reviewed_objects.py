"""Choosing what is to be reviewed: objects and roles of one realm, found by name, with or without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from authzsite.console.kit.display import terms
from authzsite.console.kit.forms import BoundField
from authzsite.console.kit.http import numbers_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, giveable
from catalog.nodes import Node, nodes
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import search
from policies.decisions.personal_role_names import is_personal
from policies.services import roles

OFFERED, MOST = 12, 40


@dataclass(frozen=True)
class TypedObjects:
    """What a form says of objects: those named so far, what is typed, the button that was used."""

    named: tuple[int, ...] = ()
    find: str = ""
    add: str = ""
    drop: str = ""
    entered: bool = False
    """Whether what is typed was confirmed with Enter, so that a single match may be taken."""


@dataclass
class ReviewedObjects:
    """The objects and roles that are meant, and those that are offered."""

    circle: VisiblePrincipals
    typed: TypedObjects

    @cached_property
    def chosen(self) -> list[Node]:
        """Those that are this person's to review, all in one realm."""
        keys = [key for key in self.typed.named if str(key) != self.typed.drop]
        keys += [key for key in numbers_in([self.typed.add]) if key not in keys]
        if self.meant is not None and self.meant.id not in keys:
            keys.append(self.meant.id)
        by_id = nodes(keys[:MOST])
        mine = [
            by_id[key] for key in dict.fromkeys(keys) if key in by_id and may_review(self.circle, by_id[key])
        ]
        return [node for node in mine if node.realm_id == mine[0].realm_id]

    @cached_property
    def meant(self) -> Node | None:
        """What was typed and confirmed with Enter, where the name can mean one thing only."""
        sought = self.typed.find.casefold()
        if not sought or not self.typed.entered:
            return None
        candidates = self._called(self.typed.find)
        exact = [
            node for node in candidates if sought in (node.name.casefold(), node.ref.full_name.casefold())
        ]
        return exact[0] if len(exact) == 1 else candidates[0] if len(candidates) == 1 else None

    @property
    def find(self) -> str:
        """What stays in the text field: nothing when it led to an object."""
        return "" if self.meant else self.typed.find

    @cached_property
    def offered(self) -> list[Node]:
        """What may be chosen: what is called so, or without a name what this person governs."""
        chosen = {node.id for node in self.chosen}
        candidates = [node for node in self._called(self.find) if node.id not in chosen]
        root = self.chosen[0].realm_id if self.chosen else None
        return [node for node in candidates if root is None or node.realm_id == root][:OFFERED]

    def _called(self, text: str) -> list[Node]:
        """What this person may have reviewed whose name holds a text, what lies highest first."""
        last = text.rpartition(".")[2]
        candidates = [
            node for node in giveable(self.circle, last) if text.casefold() in node.ref.full_name.casefold()
        ]
        candidates += self._roles() if text else ()
        return sorted(candidates, key=lambda node: (len(node.levels), node.names))

    def _roles(self) -> Iterable[Node]:
        now = timezone.now()
        for realm in self.circle.realms:
            slice_ = slices.current(self.circle.asker, realm, now=now)
            rows = search(slice_, realm, self.typed.find, now=now, types=("role",))[:OFFERED]
            by_id = nodes([row.securable_id for row in rows])
            yield from (node for node in by_id.values() if may_review(self.circle, node))


def may_review(circle: VisiblePrincipals, node: Node) -> bool:
    """Whether this person may give access to it, and so may have it reviewed."""
    realm = next((item for item in circle.realms if item.realm_id == node.realm_id), None)
    if realm is None or is_personal(node.name):
        return False
    slice_ = slices.current(circle.asker, realm)
    operation = roles.operation(node, "assign") if node.type == "role" else "grant"
    return bool(ask.answer(slice_, operation, node, now=timezone.now()))


class ObjectsInput(forms.Widget):
    """Reads `on`, `off`, `add_on` and what is typed."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> TypedObjects:
        add, drop = data.get("add_on", ""), data.get("off", "")
        find = data.get(name, "").strip()[:255].replace("\0", "")
        entered = data.get("step") == "look" and not {"add_on", "off"} & set(data)
        return TypedObjects(tuple(numbers_in(data.getlist("on"))), find, add, drop, entered)


class BoundObjects(BoundField):
    """Objects as a page draws them."""

    field: ObjectsField

    @property
    def choice(self) -> ReviewedObjects:
        return self.field.choose(self.data)

    @property
    def tokens(self) -> list[dict[str, Any]]:
        return [_drawn(node) for node in self.choice.chosen]

    @property
    def options(self) -> list[dict[str, Any]]:
        return [_drawn(node) for node in self.choice.offered]

    @property
    def nobody(self) -> str:
        return _("You cannot grant access to anything of that name.") if self.choice.find else ""

    @property
    def picking(self) -> bool:
        """Whether somebody is just choosing, so that the field keeps the focus."""
        typed: TypedObjects = self.data
        return bool(typed.find or typed.add or typed.drop)


def _drawn(node: Node) -> dict[str, Any]:
    kind = "role" if node.type == "role" else terms.type_of(node.type)
    name, icon = node.ref.full_name or node.name, terms.icon_of(node.type)
    return {"code": node.id, "name": name, "note": kind, "icon": icon}


class ObjectsField(forms.Field):
    """What is reviewed."""

    widget = ObjectsInput
    circle: VisiblePrincipals

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._last: ReviewedObjects | None = None

    def get_bound_field(self, form: Any, field_name: str) -> BoundObjects:
        return BoundObjects(form, self, field_name)

    def choose(self, typed: TypedObjects) -> ReviewedObjects:
        """What is meant by what was typed; looked up once."""
        if self._last is None or self._last.typed != typed:
            self._last = ReviewedObjects(self.circle, typed)
        return self._last

    def clean(self, value: TypedObjects) -> Sequence[Node]:
        chosen = self.choose(value).chosen
        if not chosen:
            raise ValidationError(_("Choose what to review."), code="required")
        return chosen
