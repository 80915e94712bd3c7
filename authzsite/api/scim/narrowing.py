"""The part of a filter that an index can answer; the rest of it is asked of what is condition."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from scim2_models import ScimFilter
from scim2_models.path import CompareOperator, Comparison, FilterNode, LogicalExpr, LogicalOperator

from accounts.models import DirectoryEntry
from accounts.text import holdable

_URN = "urn:ietf:params:scim:schemas:core:2.0:"


def narrowed(rows: QuerySet[DirectoryEntry], filter_: ScimFilter[Any] | None) -> QuerySet[DirectoryEntry]:
    """No more rows than before, and all that the filter finds."""
    return rows if filter_ is None else rows.filter(_condition(filter_.ast))


def _condition(node: FilterNode) -> Q:
    if isinstance(node, LogicalExpr):
        parts = [_condition(item) for item in node.terms]
        if node.op == LogicalOperator.and_:
            condition = Q()
            for part in parts:
                condition &= part
            return condition
        return _any(parts) if all(parts) else Q()
    if isinstance(node, Comparison) and node.op == CompareOperator.eq and isinstance(node.value, str):
        return _equal(str(node.attr_path), node.value)
    return Q()


def _any(parts: list[Q]) -> Q:
    condition = parts[0]
    for part in parts[1:]:
        condition |= part
    return condition


def _equal(path: str, value: str) -> Q:
    if not holdable(value):
        return Q(pk__in=[])
    if not value.isascii():  # the database folds other letters in a way of its own
        return Q()
    match path.rpartition(":")[2].casefold():
        case "id":
            return Q(key=value)
        case "externalid":
            return Q(external_id=value)
        case "username":
            return Q(principal__name__iexact=value)
        case "displayname" if path.startswith(f"{_URN}Group") or ":" not in path:
            shown = Q(principal__display_name__iexact=value.strip())
            return shown | Q(principal__name__iexact=value)
        case "members" | "members.value":
            return Q(principal__directory_members__member__directory_entry__key=value)
    return Q()
