"""Several rights that others gave in the backend, decided about as one change: what can be, and why not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext

from catalog.nodes import nodes
from policies.authority import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.events import FOREIGN_ACCEPTED, FOREIGN_ADOPTED, FOREIGN_REVOKED
from policies.models import BackendFinding
from policies.record.change import change
from policies.services import realm_of
from policies.services.grants import Grantable
from policies.sync.actions import foreign_rights
from policies.sync.actions.foreign_rights import Foreign

MOST = 50
"""More grants than this are not decided about at once."""
KINDS = {"adopt": FOREIGN_ADOPTED, "revoke": FOREIGN_REVOKED, "accept": FOREIGN_ACCEPTED}


def chosen(findings: Collection[int]) -> list[Foreign]:
    """The foreign grants that these findings belong to, each once, in the order of their holders.

    Two queries and one for their objects, however many.
    """
    rows = BackendFinding.objects.filter(kind="foreign")
    named = list(rows.filter(pk__in=findings))
    near = rows.filter(
        backend__in={row.backend_id for row in named}, holder__in={row.holder for row in named}
    )
    alike: dict[tuple[object, ...], list[BackendFinding]] = {_key(row): [] for row in named}
    for row in near.select_related("backend__realm").order_by("holder", "place", "what") if named else ():
        if _key(row) in alike:
            alike[_key(row)].append(row)
    every = [Foreign(rows[0].backend, tuple(rows)) for rows in alike.values() if rows]
    places = nodes(
        {key for about in every for key in (about.first.securable_id, about.backend.catalog_id) if key}
    )
    grants = []
    for about in every:
        place = places.get(about.first.securable_id or 0) or places.get(about.backend.catalog_id)
        if place is not None:
            about.__dict__["node"] = place
            grants.append(about)
    foreign_rights.share_carried(grants)
    return sorted(grants, key=lambda about: (about.first.holder, about.first.place, about.first.pk))


def _key(row: BackendFinding) -> tuple[object, ...]:
    return row.backend_id, row.holder, row.grantor, row.place, row.type


@dataclass(frozen=True)
class BulkDecision:
    """Those about which a decision can be carried out, and the others, each with what stands against it."""

    grants: tuple[Foreign, ...]
    left_out: tuple[tuple[Foreign, str], ...]

    @classmethod
    def of(cls, some: Sequence[Foreign], code: str, by: Actor) -> BulkDecision:
        """All of one realm: a change is of one realm."""
        fit: list[Foreign] = []
        left: list[tuple[Foreign, str]] = []
        for about in some:
            if problem := _hindrance(about, code, by, fit):
                left.append((about, problem))
            else:
                fit.append(about)
        if code == "adopt":
            fit, apart = _kept_apart(fit, by)
            left += apart
        return cls(tuple(fit), tuple(left))

    def gifts(self, by: Actor) -> list[tuple[Grantable, list[Foreign]]]:
        """What adopting them gives besides, each once, and for which of them; nothing that is adopted too."""
        adopted = {
            (about.first.holder, about.node.id, code) for about in self.grants for code in about.privileges
        }
        besides: dict[tuple[str, int, str], tuple[Grantable, list[Foreign]]] = {}
        for about in self.grants:
            for gift in foreign_rights.way(about, by):
                key = (about.first.holder, gift.node.id, gift.privilege)
                if key not in adopted:
                    besides.setdefault(key, (gift, []))[1].append(about)
        return list(besides.values())


def _hindrance(about: Foreign, code: str, by: Actor, before: Sequence[Foreign]) -> str:
    if before and about.backend.realm_id != before[0].backend.realm_id:
        return gettext("It is in another realm. Decide it separately.")
    if len(before) == MOST:
        return gettext("At most %(most)s can be decided at once.") % {"most": MOST}
    if code == "accept" and about.first.accepted_until and about.first.accepted_until > timezone.now():
        return gettext("It is accepted already.")
    return foreign_rights.hindrance(about, code, by)


def _kept_apart(some: list[Foreign], by: Actor) -> tuple[list[Foreign], list[tuple[Foreign, str]]]:
    """Without those that are harmless alone, and with the others before them break a rule of separation."""
    if not foreign_rights.separated(some, by):
        return some, []
    fit: list[Foreign] = []
    left = []
    for about in some:
        if problem := foreign_rights.separated([*fit, about], by):
            left.append((about, problem))
        else:
            fit.append(about)
    return fit, left


def decide(
    some: Iterable[Foreign], code: str, *, by: Actor, reason: str = "", until: datetime | None = None
) -> None:
    """Adopt, revoke or accept all of them as one change, or none of them.

    Raises Conflict when one is no longer what it was, and what deciding about one raises.
    """
    some = list(some)
    with change(KINDS[code], realm=realm_of(some[0].node), by=by, reason=reason):
        for about in some:
            try:
                if foreign_rights.foreign(about.first.pk).rights != about.rights:
                    raise Conflict(gettext("It changed in the backend meanwhile."))
                _decide(about, code, by, reason, until)
            except (Invalid, NotFound, Conflict) as problem:
                raise Conflict(f"{about.first.holder}, {about.first.place}: {problem}") from problem


def _decide(about: Foreign, code: str, by: Actor, reason: str, until: datetime | None) -> None:
    if code == "adopt":
        foreign_rights.adopt(about.first.pk, by=by, reason=reason)
    elif code == "revoke":
        foreign_rights.revoke(about.first.pk, by=by, reason=reason)
    elif until is not None:
        foreign_rights.accept(about.first.pk, until, by=by, reason=reason)
