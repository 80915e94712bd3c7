"""What a review would be about, counted before it is started; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext

from catalog.models import Realm
from catalog.nodes import Node, nodes
from catalog.queries import root
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.access import AccessMap
from policies.errors import Invalid, Refused
from policies.models import Counter, Review
from policies.reviews.campaign_plans import Plan, Scope
from policies.reviews.row_sources import RowDraft, Sources, removable
from policies.reviews.start import authority
from policies.services.grants import GRANT

MOST = 5000
"""So many rows of each source are counted; of more it is said that there are more."""


@dataclass(frozen=True)
class Estimate:
    """How many rows by source, of how many holders; `more` when not all were counted.

    `narrowed`: only rows with the risks that are asked for are kept, which is known when they are weighed.
    """

    kinds: tuple[tuple[str, int], ...]
    people: int
    more: bool
    narrowed: bool

    @property
    def rows(self) -> int:
        return sum(many for _, many in self.kinds)


@dataclass(frozen=True)
class Inherited:
    """How many have access to an object by what is granted above it, and on which objects that is.

    A review of the object alone has none of it: what is granted above is removed above.
    """

    node: Node
    people: int
    sources: tuple[Node, ...]


def inherited(node: Node) -> Inherited:
    """Who has access to an object from above; those who own it or what it lies in are left out."""
    access, sources, many = AccessMap(node), set[int](), 0
    for person in access.people.values():
        paths = [path for path in access.access_of(person).paths if not (path.denies or path.owner)]
        objects = {path.rule.object for path in paths if path.above and isinstance(path.rule.object, int)}
        sources |= objects
        many += bool(objects)
    return Inherited(node, many, tuple(sorted(nodes(sources).values(), key=lambda item: -len(item.levels))))


def estimate(plan: Plan, by: Actor) -> Estimate:
    """Count what a plan is about, as it stands now.  A fixed number of queries.  Raises Refused, Invalid."""
    scope = plan.scope
    places = (*scope.where, *scope.roles)
    if not places:
        raise Invalid(gettext("Choose what to review."))
    authority(scope, by)
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    realm = Realm.objects.get(pk=places[0].realm_id)
    review = Review(
        realm=realm,
        revision=Counter.objects.get().revision,
        started=timezone.now(),
        starter=by.decides_as,
    )
    top = root(realm)
    sources = Sources(review, scope, top, members=is_service_admin(by.decides_as))
    drafts, more = _drafts(sources)
    kept = _own(drafts, scope, top, by)
    people = {draft.holder for some in kept.values() for draft in some if draft.holder}
    kinds = tuple((source, len(some)) for source, some in kept.items())
    return Estimate(kinds, len(people), more, bool(scope.risks))


def _drafts(sources: Sources) -> tuple[dict[str, list[RowDraft]], bool]:
    by_row, more = {}, False
    for source in sources.order:
        drafts, after = sources.batch(source, [], MOST)
        by_row[source], more = drafts, more or after is not None
    return by_row, more


def _own(
    drafts: Mapping[str, list[RowDraft]], scope: Scope, top: Node, by: Actor
) -> dict[str, list[RowDraft]]:
    """Those that the actor may have removed: where not a role from its holder, then what the role gives."""
    named = {draft.role for some in drafts.values() for draft in some if draft.role}
    may = {role.id for role in scope.roles} | _assignable(named, top, by)
    return {
        source: [item for item in some if removable(item, scope, assignable=item.role in may)]
        for source, some in drafts.items()
    }


def _assignable(named: Iterable[int], top: Node, by: Actor) -> set[int]:
    if by.decides_as is None:
        return set()
    slice_, now = slices.current(by.decides_as, top), timezone.now()
    nodes_ = nodes(named).values()
    return {item.id for item in nodes_ if ask.answer(slice_, GRANT, item, now=now)}
