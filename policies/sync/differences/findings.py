"""What a look found that differs from what was decided, kept as rows that last as long as it is seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catalog.nodes import Node
from lakewarden.backends import base, kinds
from lakewarden.backends.base import Desired, FoundObject, Observation, Plan
from lakewarden.backends.decisions import Target
from policies.models import Backend, BackendFinding, BackendLogins
from policies.sentences import Type, filled, read_back, say, sentence
from policies.services import object_names
from policies.sync.desired import targets_below
from policies.sync.differences.items import Concern

PEOPLE = 1000
"""So many of those concerned are kept by name with one finding."""
VANISHED = "was not found there at the last look"
"""What is said of an object that its source no longer has under its name."""
CANNOT_TAKE = sentence(
    "foreign.cannot_take",
    "The account that Lakewarden uses in {system} may not act as {account}, who granted this, so it "
    "cannot revoke it.",
)
CANNOT_GIVE = sentence(
    "foreign.cannot_give",
    "The account that Lakewarden uses in {system} may not act as {account}, who owns this, "
    "so it cannot grant the same.",
)

PASSED_ON = sentence(
    "foreign.passed_on",
    "{account} has passed this on to {other}, and the account that Lakewarden uses in {system} cannot "
    "revoke that.",
)
OPTION = " WITH GRANT OPTION"


@dataclass(frozen=True)
class Difference:
    """One difference, as its row will say it."""

    kind: str
    path: tuple[str, ...] | None = None
    type: str = ""
    holder: str = ""
    what: str = ""
    grantor: str = ""
    people: tuple[str, ...] = ()


def remember(
    backend: Backend,
    catalog: Node,
    seen: Observation,
    plan: Plan,
    wanted: Desired,
    now: datetime,
    absent: Collection[str] = (),
    *,
    out_there: base.Backend,
) -> None:
    """Bring the rows up to what was just seen; of an incomplete look nothing is taken for ended.

    `absent` names what is decided about here and was not found there: objects, or what it has no word for.
    """
    kind = kinds.get(backend.kind)
    targets = targets_below(catalog, kind)
    by_path = {("", target.path): target.id for target in targets}
    by_path |= {(target.kind, target.path): target.id for target in targets}
    differences = [*_foreign(seen), *_bypasses(seen), *_unknown(seen), *_planned(plan, wanted)]
    differences += [
        Difference("unknown", what=text)
        for source_object in seen.objects
        if (text := ungovernable(source_object))
    ]
    differences += _absent(frozenset(absent), targets)
    rows = [_row(backend, difference, by_path, now) for difference in sorted(set(differences), key=repr)]
    _hinder(rows, seen, backend.get_kind_display())
    _concern(rows, Concern(out_there, kind, by_path, wanted, seen))
    BackendFinding.objects.bulk_create(
        _each_once(rows),
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["backend", "kind", "place", "holder", "what", "grantor"],
        update_fields=["last_seen", "securable", "type", "path", "people", "concerns", "hindered"],
    )
    if seen.complete:
        BackendFinding.objects.filter(backend=backend, last_seen__lt=now).delete()
        _remember_logins(backend, seen)


def _row(
    backend: Backend,
    difference: Difference,
    by_path: Mapping[tuple[str, tuple[str, ...]], int],
    now: datetime,
) -> BackendFinding:
    at = difference.path
    return BackendFinding(
        backend=backend,
        kind=difference.kind,
        securable_id=by_path.get((difference.type, at)) if at is not None else None,
        place=".".join(at or ()),
        type=difference.type,
        path=list(at or ()),
        people=list(difference.people),
        holder=difference.holder,
        what=difference.what,
        grantor=difference.grantor,
        first_seen=now,
        last_seen=now,
    )


def _hinder(rows: Iterable[BackendFinding], seen: Observation, system: str) -> None:
    """Say of foreign rights what our account could not do about them."""
    owners = {
        source_object.path: source_object.owner
        for source_object in seen.objects
        if source_object.owner in seen.barred
    }
    foreign = [row for row in rows if row.kind == "foreign"] if seen.barred else []
    for row in foreign:
        if row.grantor in seen.barred:
            row.hindered["take"] = say(CANNOT_TAKE, system=system, account=row.grantor).as_data()
        if tuple(row.path) in owners:
            owner = owners[tuple(row.path)]
            row.hindered["give"] = say(CANNOT_GIVE, system=system, account=owner).as_data()
    _hinder_passed_on(foreign, system)


def _hinder_passed_on(foreign: Iterable[BackendFinding], system: str) -> None:
    """What was passed on goes only after what rests on it: where that cannot be revoked, neither can this."""
    rights: dict[tuple[str, str, str, str], list[BackendFinding]] = {}
    for row in foreign:
        key = (row.holder, row.type, row.place, row.what.removesuffix(OPTION))
        rights.setdefault(key, []).append(row)
    stays = [row for row in foreign if "take" in row.hindered]
    while stays:
        other = stays.pop()
        key = (other.grantor, other.type, other.place, other.what.removesuffix(OPTION))
        passed_on = [row for row in rights.get(key, ()) if "take" not in row.hindered]
        for row in passed_on:
            sentence_ = say(PASSED_ON, system=system, account=row.holder, other=other.holder)
            row.hindered["take"] = sentence_.as_data()
        stays += passed_on


def hindrance_in_words(kept: dict[str, Any] | str) -> str:
    """What is kept of a hindrance, in the language that is spoken now; what was kept before is English."""
    return filled(
        (read_back(kept, (CANNOT_TAKE, CANNOT_GIVE, PASSED_ON)) or kept) if isinstance(kept, str) else kept
    )


def _concern(rows: Iterable[BackendFinding], concern: Concern) -> None:
    for row in rows:
        if row.kind not in ("missing", "extra"):
            continue
        if row.type:
            row.concerns = concern.of_right(row.type, tuple(row.path), row.what)
        else:
            role = row.what.removeprefix("member of ")
            row.concerns = concern.of_membership(row.holder, role, missing=row.kind == "missing")


def _each_once(rows: Iterable[BackendFinding]) -> list[BackendFinding]:
    unique = {(row.kind, row.place, row.holder, row.what, row.grantor): row for row in rows}
    return list(unique.values())


def _remember_logins(backend: Backend, seen: Observation) -> None:
    names = sorted(seen.people)
    row, _ = BackendLogins.objects.get_or_create(backend=backend)
    if row.names != names:
        row.names = names
        row.save()


def _foreign(seen: Observation) -> Iterable[Difference]:
    for grant in seen.foreign:
        right, people = grant.right, (grant.holder,) if grant.holder in seen.people else ()
        yield Difference("foreign", right.path, right.kind, grant.holder, right.right, grant.grantor, people)


def _bypasses(seen: Observation) -> Iterable[Difference]:
    for bypass in seen.bypasses:
        yield Difference("bypass", bypass.path, "", bypass.holder, bypass.what)


def _unknown(seen: Observation) -> Iterable[Difference]:
    for text in seen.unknown:
        yield Difference("unknown", what=text)


def ungovernable(found_object: FoundObject) -> str:
    """Why an object that the source has cannot be registered, its name escaped; "" when it can."""
    flaw = next(filter(None, map(object_names.flaw, found_object.path)), "")
    if not flaw:
        return ""
    name = object_names.escaped(".".join(found_object.path))
    return say(flaw, type=Type(found_object.kind), what=name, most=object_names.LONGEST).english


def ungovernable_in_words(text: str) -> str:
    """Why one cannot be governed, in the language that is spoken now; any other text stays as it is."""
    codes = (object_names.HAS_CONTROLS, object_names.OF_NO_LENGTH)
    return str(read_back(text, codes) or text)


def _absent(names: frozenset[str], targets: Iterable[Target]) -> Iterable[Difference]:
    objects = {".".join(target.path): target for target in targets if target.path}
    for name in sorted(names):
        node = objects.get(name)
        yield (
            Difference("unknown", node.path, node.kind, what=VANISHED)
            if node
            else Difference("unknown", what=name)
        )


def _planned(plan: Plan, wanted: Desired) -> Iterable[Difference]:
    for step in plan.steps:
        if step.kind == "take_foreign":
            continue  # it is told as the foreign right that it is
        if step.kind == "take" and step.role not in wanted.roles and not step.revokes:
            continue  # the rest of a role that goes once its people have moved; nobody has too much by it
        kind = "extra" if step.kind == "take" else "missing"
        people = tuple(sorted(wanted.members.get(step.role, ())))[:PEOPLE]
        for right in step.rights:
            yield Difference(kind, right.path, right.kind, step.role, right.right, people=people)
        for role in step.joins:
            yield Difference("missing", None, "", step.person, f"member of {role}", people=(step.person,))
        for role in step.leaves:
            yield Difference("extra", None, "", step.person, f"member of {role}", people=(step.person,))
