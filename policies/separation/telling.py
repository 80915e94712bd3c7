"""Rules of separation and conflicts with them, in words."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root
from lakewarden.facts import OWNER
from policies.models import Ownership
from policies.separation.book import Book, Clash
from policies.separation.sides import Side, Way, sides_of


def side(one: Side, places: dict[int, Node]) -> str:
    """role payer; MODIFY_TABLE on shop.sales and below."""
    node = places.get(one.key)
    name = node.ref.full_name or node.name if node else "what was dropped"
    if one.role is not None:
        return f"role {name}"
    return f"{' or '.join(one.privileges)} on {name}"


def way(one: Way, places: dict[int, Node]) -> str:
    """through group finance and role payer; directly, as owner of sales."""
    stations = [f"{station.kind} {station.name}" for station in one.via if not station.name.startswith("~")]
    through = f"through {' and '.join(stations)}" if stations else "directly"
    node = places.get(one.object or 0)
    if one.privilege == OWNER and node is not None:
        return f"{through}, as owner of {node.ref.full_name or node.name}"
    return through


def refusal(new: Sequence[Clash], rules: Book, *, many: int) -> str:
    """Why a change is refused: who, which rule, both sides and how, and who may make an exception."""
    rules.learn(one.key for clash in new for one in sides_of(clash.rule))
    told = [_clash(one, rules.places) for one in new[:many]]
    more = f" The same for {len(new) - many} more." if len(new) > many else ""
    return f"{' '.join(told)}{more} {whom_to_ask(new[0].rule.realm)}"


def _clash(one: Clash, places: dict[int, Node]) -> str:
    first, second = sides_of(one.rule)
    by_one, by_other = one.both.pairs[0]
    until = f", beyond the exception that ends {_end(one)}" if one.exception else ""
    return (
        f"{one.person.label} would have both sides of the rule “{one.rule.name}”{until}: "
        f"{side(first, places)} ({way(by_one, places)}) and {side(second, places)} ({way(by_other, places)})."
    )


def _end(one: Clash) -> str:
    end = one.exception.valid_until if one.exception else None
    return f"{end:%-d %b %Y, %H:%M} UTC" if end else "never"


def whom_to_ask(realm: Realm) -> str:
    top = root(realm)
    row = Ownership.objects.open().filter(securable=top.id).select_related("owner").first()
    owner = row.owner.label if row else "a service admin"
    return f"Only an exception lets somebody have both; {owner} can make one."
