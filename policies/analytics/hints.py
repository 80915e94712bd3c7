"""Hints where access could be tighter: who may see them, dismissing one with a reason, and mending it.

They are found by the pipeline `unused_grants`; a hint shows what was true at its revision, so mending decides
again on what is true now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from catalog.nodes import Node, node, nodes
from lakewarden.law import dialects
from policies.analytics import hint_fixes, hint_visibility, hint_words
from policies.analytics.hint_kinds import KINDS, REMOVE, Kind
from policies.authority import Actor, Authority
from policies.errors import Conflict, Invalid, NotFound
from policies.events import HINT_BROUGHT_BACK, HINT_DISMISSED
from policies.models import Grant, Hint
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import grants, realm_of

LOOKED_AT = 2_000
"""So many hints at the most are gone through to find those about one role or person."""
NO_REASON = gettext_lazy("Give a reason why it stays; the next reader will ask.")
COUNTED = {"people": ("person", "people"), "objects": ("object", "objects")}
"""What a ground counts, in words."""
Place = tuple[int, int]
"""Where a hint stands in the order of the weightiest: how many people it concerns, and its number."""


@dataclass(frozen=True)
class HintView:
    """One hint as it is shown.

    `node` is the object it is about, the realm's root where it is about none; `role` and `other` are the
    roles, `holder` who is concerned: a person, a group, or the one behind a personal role.
    """

    row: Hint
    node: Node
    role: Node | None = None
    other: Node | None = None

    @property
    def kind(self) -> Kind:
        return KINDS[self.row.kind]

    @property
    def label(self) -> str:
        return self.kind.label

    @property
    def holder(self) -> Principal | None:
        return self.row.holder

    @property
    def ground(self) -> str:
        """Why, in a sentence in English."""
        return self._in_english(self.kind.ground)

    @property
    def mends(self) -> str:
        """The change that mends it, in English."""
        return self._in_english(self.kind.mends)

    @property
    def at_once(self) -> bool:
        """Whether `mend` can do it without a further choice."""
        return self.kind.deed == REMOVE and self.row.grant is not None

    @cached_property
    def values(self) -> dict[str, Any]:
        """What its sentences are filled with: numbers, names, and the right in English."""
        privilege = dialects.get(self.node.kind).privilege(self.row.privilege)
        # one that was found before its ground told of its age has no `given`
        named: dict[str, Any] = {"given": "", "people": self.row.people}
        named["privilege"] = privilege.label if privilege else self.row.privilege
        return {**named, **self.row.data}

    def _in_english(self, text: str) -> str:
        words = dict(self.values)
        for name, (singular, plural) in COUNTED.items():
            if isinstance(words.get(name), int):
                words[name] = f"{words[name]} {singular if words[name] == 1 else plural}"
        with translation.override(None):
            read = {
                name: value if isinstance(value, int) else hint_words.in_readers_language(name, value)
                for name, value in words.items()
            }
        return text.format(**read)

    def age(self, now: datetime | None = None) -> timedelta:
        """How long ago it was last found."""
        return (now or timezone.now()) - self.row.seen


def about_object(place: Node, by: Actor, *, dismissed: bool = False) -> list[HintView]:
    """The hints on one object or on its very name, for those who may change that or review it."""
    text = f"{place.type}:{'.'.join(place.names[1:] or place.names)}"
    rows = _open(dismissed=dismissed).filter(
        Q(securable=place.id) | Q(realm=place.realm_id, securable__isnull=True, pattern=text)
    )
    return _seen(by, hint_views(rows, [place]), [place])


def about_role(role: Node, by: Actor, *, dismissed: bool = False) -> list[HintView]:
    """The hints about a role and what it gives, as far as the asker may see what they are about."""
    rows = _open(dismissed=dismissed).filter(Q(role=role.id) | Q(other_role=role.id))
    return _seen(by, hint_views(rows[:LOOKED_AT], [role]), [role])


def about_person(person: Principal, root: Node, by: Actor, *, dismissed: bool = False) -> list[HintView]:
    """The hints about what a person holds in a realm, as far as the asker may see what they are about."""
    rows = _open(dismissed=dismissed).filter(realm=root.realm_id, holder=person)
    return _seen(by, hint_views(rows[:LOOKED_AT], [root]), [root])


@dataclass(frozen=True)
class HintList:
    """The hints of some realms that somebody may see, the weightiest first, however many there are."""

    realms: tuple[Node, ...]
    by: Actor
    dismissed: bool = False

    @cached_property
    def rows(self) -> QuerySet[Hint]:
        return _open(dismissed=self.dismissed).filter(hint_visibility.visible(self.realms, self.by))

    def counts(self) -> dict[str, int]:
        """How many there are of each kind.  One query."""
        counted = self.rows.order_by().values_list("kind").annotate(many=Count("pk"))
        counts = dict(counted)
        return {kind: counts[kind] for kind in KINDS if kind in counts}

    def page(self, limit: int, *, kind: str = "", after: Place | None = None) -> list[HintView]:
        """So many of them, of one kind or of all, from the first or behind a place.  Three queries."""
        rows = self.rows.filter(kind=kind) if kind else self.rows
        if after is not None:
            people, number = after
            rows = rows.filter(Q(people__lt=people) | Q(people=people, id__gt=number))
        return hint_views(rows[:limit], self.realms)


def hint(number: int, by: Actor) -> HintView:
    """One hint that the asker may see.  Raises NotFound."""
    row = Hint.objects.select_related("holder", "dismissed_by").filter(pk=number).first()
    root = _root_of(row) if row else None
    views = hint_views([row], [root]) if row and root else []
    if root is None or not _seen(by, views, [root]):
        raise NotFound(gettext("There is no such hint."))
    return views[0]


def dismiss(number: int, *, by: Actor, reason: str) -> HintView:
    """Leave it as it is, for a reason; it does not come back with the next run.

    Raises NotFound, Refused, Invalid, and Conflict when somebody else has dismissed it.
    """
    if not reason.strip():
        raise Invalid(str(NO_REASON))
    about = hint(number, by)
    with change(HINT_DISMISSED, realm=realm_of(about.node), by=by, reason=reason) as current:
        authority = authority_over(about, by)
        rows = Hint.objects.filter(pk=number, dismissed__isnull=True)
        if not rows.update(dismissed=current.at, dismissed_by=by.decides_as, reason=reason.strip()):
            raise Conflict(gettext("It is already dismissed."))
        current.say(make_event(HINT_DISMISSED, about.node, hint=about.label), by=authority)
    about.row.refresh_from_db()
    return about


def bring_back(number: int, *, by: Actor, reason: str = "") -> HintView:
    """Take a dismissal back.  Raises NotFound, Refused, Conflict."""
    about = hint(number, by)
    with change(HINT_BROUGHT_BACK, realm=realm_of(about.node), by=by, reason=reason) as current:
        authority = authority_over(about, by)
        rows = Hint.objects.filter(pk=number, dismissed__isnull=False)
        if not rows.update(dismissed=None, dismissed_by=None, reason=""):
            raise Conflict(gettext("It is not dismissed."))
        current.say(make_event(HINT_BROUGHT_BACK, about.node, hint=about.label), by=authority)
    about.row.refresh_from_db()
    return about


def mend(number: int, *, by: Actor, reason: str = "") -> HintView:
    """End the grant that a hint is about, by the service that ends it anywhere else; the hint is gone then.

    Raises NotFound, Refused, Invalid for a hint that needs a choice, and Conflict when the grant has ended,
    or when somebody would lose or gain what the hint says that nobody does.
    """
    about = hint(number, by)
    number_of_grant = about.row.grant
    if not about.at_once or number_of_grant is None:
        raise Invalid(gettext("%(mends)s: that needs your choice.") % {"mends": about.mends})
    row = Grant.objects.open().filter(pk=number_of_grant).select_related("holder").first()
    if row is None:
        Hint.objects.filter(pk=number).delete()
        raise Conflict(gettext("It has ended meanwhile."))
    reason = reason or f"{about.label}: {about.ground}"
    hint_fixes.end(row, about.node, about.role, kind=about.row.kind, by=by, reason=reason)
    Hint.objects.filter(realm=about.row.realm_id, grant=row.pk).delete()
    return about


def authority_over(about: HintView, by: Actor) -> Authority:
    """The right to dismiss or mend a hint: that of changing who has access to its object.  Raises Refused."""
    return grants.authority_to_grant(about.node, by)


def hint_views(rows: Iterable[Hint], near: Iterable[Node]) -> list[HintView]:
    """Hints with what they are about; those whose object or role is gone are left out.  Two queries.

    `near` are objects of the realms that they are of.
    """
    rows, roots = list(rows), {item.realm_id: item.root_id for item in near}
    keys = {key for row in rows for key in (row.securable_id, row.role_id, row.other_role_id) if key}
    by_id = nodes({*keys, *roots.values()}) if rows else {}
    views = []
    for row in rows:
        about = by_id.get(row.securable_id or roots[row.realm_id])
        is_gone = any(key and key not in by_id for key in (row.role_id, row.other_role_id))
        if about is not None and not is_gone:
            views.append(HintView(row, about, by_id.get(row.role_id or 0), by_id.get(row.other_role_id or 0)))
    return views


def _open(*, dismissed: bool) -> QuerySet[Hint]:
    rows = Hint.objects.filter(dismissed__isnull=not dismissed)
    return rows.select_related("holder", "dismissed_by").order_by("-people", "id")


def _root_of(row: Hint) -> Node | None:
    about = node(row.securable_id) if row.securable_id else None
    if about is not None:
        return about
    from catalog.queries import root

    return root(row.realm)


def _seen(by: Actor, views: list[HintView], near: Iterable[Node]) -> list[HintView]:
    seen = hint_visibility.of_them(near, [item.node for item in views], by) if views else set()
    return [item for item in views if item.node.id in seen]
