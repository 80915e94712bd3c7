"""What others gave in Ranger, told as rights on our objects; and taking it when an owner orders so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lakewarden.backends.base import Foreign, Right, Step
from lakewarden.backends.errors import Gone, Rejected
from policies.sync.backends.ranger.policies import (
    entries,
    has_items,
    is_exact,
    readable,
    values_of,
    without_items,
)
from policies.sync.backends.ranger.state import Reader
from policies.sync.backends.ranger.types import LISTS, WHOLE, Type

_GRANTOR = "policy "
_WILD = frozenset("*?{")


def foreign(reader: Reader) -> Iterator[Foreign]:
    """Each access of each holder by policies of others, and of others by policies of ours."""
    ours = {policy["id"] for policy, _ in reader.ours}
    for policy in reader.policies:
        if not policy.get("isEnabled", True) or not concerns(policy, reader.type, reader.fixed):
            continue
        for entry in entries(policy):
            if policy["id"] in ours and reader.key_of(entry) is not None:
                continue
            for right in rights(policy, entry.items, entry.access, reader.type, reader.fixed):
                yield Foreign(right, entry.called, _GRANTOR + policy["name"])


def concerns(policy: Mapping[str, Any], type_: Type, fixed: str) -> bool:
    """Whether a policy can be about what is connected: in Trino about our catalog, in CDAP our instance."""
    wanted = (policy.get("resources") or {}).get(type_.fixed) if type_.fixed else None
    if wanted is None:
        return not type_.fixed
    wild = wanted.get("isExcludes") or any(_WILD & set(value) for value in wanted["values"])
    return bool(wild) or fixed in wanted["values"]


def rights(policy: Mapping[str, Any], items: str, access: str, type_: Type, fixed: str) -> list[Right]:
    """An access as rights on the objects that a policy names; with patterns as one on all together."""
    begins = LISTS[items]
    rights_ = [_right(values, begins, access, type_, fixed) for values in values_of(policy)]
    named = [right for right in rights_ if right is not None]
    if is_exact(policy) and rights_ and len(named) == len(rights_):
        return named
    root = type_.shapes[0].kind
    return [Right(root, (), f"{begins}{access} on {readable(policy)}")]


def _right(values: Mapping[str, str], begins: str, access: str, type_: Type, fixed: str) -> Right | None:
    for shape, path in type_.places(values, fixed):
        if type_.patterns or not any(_WILD & set(part) for part in path):
            return Right(shape.kind, path, begins + shape.means + access)
    column = values.get("column")
    if column and column != WHOLE and not _WILD & set(column):
        whole = _right({**values, "column": WHOLE}, "", "", type_, fixed)
        if whole is not None:
            return Right(whole.kind, whole.path, f"{begins}{access}({column})")
    return None


def taken_from(policy: Mapping[str, Any], step: Step, type_: Type, fixed: str) -> tuple[dict[str, Any], bool]:
    """The policy without what a step takes, and whether anything is left in it.

    Raises Rejected when the policy gives the same on other objects too: they are not asked about.
    """
    gone = policy
    for right in step.rights:
        for entry in list(entries(gone)):
            rights_ = rights(gone, entry.items, entry.access, type_, fixed)
            if entry.called != step.person or right not in rights_:
                continue
            if len(rights_) > 1:
                raise Rejected(
                    f"policy {policy['name']} gives this on {len(rights_)} objects ({readable(policy)}); "
                    "take it there, in Ranger, or name each object in a policy of its own"
                )
            gone = without_items(gone, entry.which, entry.holder, [(entry.items, entry.access)])
    return dict(gone), has_items(gone)


def policy_of(step: Step) -> str:
    """The name of the policy that a foreign right stands in.  Raises Rejected."""
    if not step.grantor.startswith(_GRANTOR):
        raise Rejected(f"{step.grantor or 'nobody'} is no policy of Ranger")
    return step.grantor[len(_GRANTOR) :]


def missing(step: Step) -> Gone:
    """The error for a right that stands nowhere any more."""
    return Gone(f"{step.grantor} is not there any more")
