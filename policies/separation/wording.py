"""Rules of separation and conflicts with them, in words, without what the reader may not see."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from accounts.models import Principal
from catalog.models import Realm
from catalog.queries import root
from lakewarden.law.facts import OWNER
from policies.models import Ownership
from policies.separation import visibility
from policies.separation.rules import Violation
from policies.separation.sides import Side, SidePath, sides_of
from policies.separation.visibility import Sight

UNSEEN = "something that you may not see"


def side(one: Side, seen: Sight) -> str:
    """role payer; MODIFY_TABLE on shop.sales and below."""
    if seen.hides(one):
        return UNSEEN
    node = seen.place(one.key)
    name = node.ref.full_name or node.name if node else "what was dropped"
    if one.role is not None:
        return f"role {name}"
    return f"{' or '.join(one.privileges)} on {name}"


def way(side_path: SidePath, seen: Sight) -> str:
    """through group finance and role payer; directly, as owner of sales."""
    named = [station for station in side_path.via if not station.name.startswith("~")]
    hidden = {station for station in named if station.kind == "role" and not seen.place(station.key)}
    stations = ["a role" if item in hidden else f"{item.kind} {item.name}" for item in named]
    through = f"through {' and '.join(stations)}" if stations else "directly"
    node = seen.place(side_path.object)
    if side_path.privilege == OWNER and node is not None:
        return f"{through}, as owner of {node.ref.full_name or node.name}"
    return through


def refusal(
    new: Sequence[Violation], *, many: int, reader: Principal | None, now: datetime | None = None
) -> str:
    """Why a change is refused: who, which rule, both sides and how, and who may make an exception."""
    seen = visibility.of_clashes(reader, new[:many], now=now)
    told = [_clash(item, seen) for item in new[:many]]
    more = f" The same for {len(new) - many} more." if len(new) > many else ""
    return f"{' '.join(told)}{more} {whom_to_ask(new[0].rule.realm)}"


def _clash(violation: Violation, seen: Sight) -> str:
    first, second = sides_of(violation.rule)
    by_one, by_other = violation.both.pairs[0]
    until = f", beyond the exception that ends {_end(violation)}" if violation.exception else ""
    return (
        f"{violation.person.label} would have both sides of the rule “{violation.rule.name}”{until}: "
        f"{_had(first, by_one, seen)} and {_had(second, by_other, seen)}."
    )


def _had(one: Side, by: SidePath, seen: Sight) -> str:
    # how somebody comes to a hidden object would tell the reader what it is
    return side(one, seen) if seen.hides(one) else f"{side(one, seen)} ({way(by, seen)})"


def _end(violation: Violation) -> str:
    end = violation.exception.valid_until if violation.exception else None
    return f"{end:%-d %b %Y, %H:%M} UTC" if end else "never"


def whom_to_ask(realm: Realm) -> str:
    top = root(realm)
    row = Ownership.objects.open().filter(securable=top.id).select_related("owner").first()
    owner = row.owner.label if row else "a site admin"
    return f"Only an exception lets somebody have both; {owner} can make one."
