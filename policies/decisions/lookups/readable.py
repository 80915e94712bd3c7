"""On how many objects with data somebody can do something now: decided once for all that are alike."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Min

from catalog.models import Placement
from catalog.nodes import Node, any_of, nodes, on_or_below
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Slice
from lakewarden.spark.pipelines.reach_counts import actions, data_types

READ = "read"


def count_readable(
    slice_: Slice, root: Node, *, now: datetime, within: Collection[int] | None = None
) -> int | None:
    """How many objects with data of a realm the slice's principal can read, the same as its figures count.

    `within` keeps to objects and what is below them.  None where names count instead of objects.  Three
    queries, and a decision for each container and type, and each object that a rule names.
    """
    law = dialects.get(root.kind)
    if law.by_text:
        return None
    operations = {
        type_: dict(actions(law, type_))[READ]
        for type_ in data_types(law)
        if READ in dict(actions(law, type_))
    }
    named = {rule.object for rule in slice_.rules if isinstance(rule.object, int)}
    rows = Placement.objects.open().filter(securable__realm=root.realm_id, type__in=operations)
    if within is not None:
        rows = rows.filter(on_or_below(within))
    groups = rows.exclude(any_of("securable_id", named)).order_by().values("parent", "type")
    many: dict[int, int] = {
        item["first"]: item["many"] for item in groups.annotate(many=Count("pk"), first=Min("securable"))
    }
    many |= dict.fromkeys(rows.filter(any_of("securable_id", named)).values_list("securable", flat=True), 1)
    moment = now.timestamp()
    return sum(
        many[key]
        for key, node in nodes(many).items()
        if engine.decide(slice_, operations[node.type], node.levels, now=moment)
    )
