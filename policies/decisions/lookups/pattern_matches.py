"""What the texts that privileges are given on match: now, and when they were given."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import BooleanField, Count, F, Func, IntegerField, Q, QuerySet, Value

from catalog.models import Placement
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import INSTANCE, PROGRAM, Authorizable, matches, parse
from lakewarden.law.globs import is_glob
from policies.models import Grant

ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_", "*": "%", "?": "_"})


def entities(root: Node, target: Authorizable, *, as_of: int | None = None) -> QuerySet[Placement]:
    """The places of the entities that a text names or is like, at a revision or now, by name."""
    rows = Placement.objects.as_of(as_of)
    if target.type == INSTANCE:
        return rows.filter(securable=root.id)
    above: Q = Q(parent=root.id)
    types = {2: ("namespace",), 4: ("namespace", "application")}.get(len(target.whole), ())
    for type, name in zip(types, target.whole, strict=False):
        held = rows.filter(above, _named(name), type=type)
        above = Q(parent__in=held.values("securable"))
    # the last part as it is kept: a program's type stands in its name
    last = (
        (".".join(target.whole[2:]) if len(target.parts) == 4 else "*")
        if target.type == PROGRAM
        else target.parts[-1]
    )
    return rows.filter(above, _named(last), type=target.type).order_by("name", "pk")


def _named(part: str) -> Q:
    if not is_glob(part):
        return Q(name=part)
    return Q(
        Func(
            F("name"),
            Value(part.translate(ESCAPED)),
            arg_joiner=" LIKE ",
            template="(%(expressions)s)",
            output_field=BooleanField(),
        )
    )


def counted(root: Node, asked: Sequence[tuple[Authorizable, int | None]]) -> list[int]:
    """How many entities each text matches at its revision.  One query, however many texts."""
    each = [
        entities(root, target, as_of=as_of)
        .order_by()
        .annotate(at=Value(place, IntegerField()))
        .values("at")
        .annotate(many=Count("pk"))
        .values_list("at", "many")
        for place, (target, as_of) in enumerate(asked)
    ]
    counts = dict(each[0].union(*each[1:], all=True)) if each else {}
    return [counts.get(place, 0) for place in range(len(asked))]


def texts_on(root: Node, entity: Authorizable) -> list[str]:
    """The texts on which something is given now that name the entity or are like it, itself first."""
    rows = Grant.objects.open().filter(realm=root.realm_id, pattern__startswith=f"{entity.type}:")
    patterns = rows.order_by("pattern").values_list("pattern", flat=True).distinct()
    texts = [text for text in patterns if matches(parse(text, others=True), entity)]
    return sorted(texts, key=lambda text: (text != str(entity), text))
