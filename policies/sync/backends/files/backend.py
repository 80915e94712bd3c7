"""Access lists of files as a backend: what POSIX file systems and HDFS have in common.

A file system has no roles: each person has their own entries in the folders of what they may use, worked out
from everything that was decided, a DENY included.  A person's own entry goes before those of their groups.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lakewarden.backends.base import Finding, ObjectKind, Observation, Outcome, Plan, Source, Step
from lakewarden.backends.errors import BackendError, Gone, Rejected
from lakewarden.backends.kinds import Field, Kind
from lakewarden.backends.steps import kept_back
from policies.sync.backends.files.acl import BITS, Name
from policies.sync.backends.files.apply import give, take, take_foreign
from policies.sync.backends.files.mark import Ours
from policies.sync.backends.files.observe import Seen, look
from policies.sync.backends.files.places import Places
from policies.sync.backends.files.tree import Entry, Path, Tree

OBJECTS = {"catalog": "catalog", "schema": "schema", "fileset": "fileset", "table": "table"}
CARRIED = {
    "catalog": (("Catalog.loadCatalog", "USE_CATALOG"),),
    "schema": (("Schema.loadSchema", "USE_SCHEMA"),),
    "fileset": (("Fileset.loadFileset", "READ_FILESET"), ("Fileset.alterFileset", "WRITE_FILESET")),
    "table": (("Table.loadTable", "SELECT_TABLE"), ("Table.alterTable", "MODIFY_TABLE")),
}
_RIGHTS: dict[tuple[str, ObjectKind], tuple[str, ...]] = {
    ("USE_CATALOG", "catalog"): ("ENTER",),
    ("USE_SCHEMA", "schema"): ("ENTER",),
    ("READ_FILESET", "fileset"): ("READ", "ENTER"),
    ("WRITE_FILESET", "fileset"): ("READ", "WRITE", "ENTER"),
    ("SELECT_TABLE", "table"): ("READ", "ENTER"),
    ("MODIFY_TABLE", "table"): ("READ", "WRITE", "ENTER"),
}
HOLDS = {"filesets": "fileset", "tables": "table"}
WHAT = Field(
    "holds",
    "What its folders are",
    "The folders in a schema's folder.",
    required=False,
    choices=(("filesets", "Filesets"), ("tables", "Tables")),
)

MOST_LISTED = 10_000
"""A folder with more files and folders is not listed."""

_PERSON, _NUMBER = "person:", "account:"


class Files:
    """One connected tree.  `people` are those whom decisions may concern; `check` looks at the connection."""

    def __init__(
        self, tree: Tree, places: Places, people: Iterable[str], findings: Callable[[], Iterable[Finding]]
    ) -> None:
        self._tree, self._places, self._findings = tree, places, findings
        self._people = frozenset(people)

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The rights on a folder that carry a console privilege; () when none do."""
        return _RIGHTS.get((privilege, kind), ())

    def source(self) -> Source:
        """The folder that is really there, and those above it."""
        return self._tree.source()

    def observe(self) -> Observation:
        """Read every access list once, while no worker of ours is at it."""
        with self._tree.alone():
            seen = look(self._places)
        return self._observation(seen)

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do the steps; neighbours that give, or take, walk each folder once for all of them."""
        failed: list[Step] = []
        for steps in _alike(plan.steps):
            errors = self._done(steps, failed)
            failed += [step for step, error in zip(steps, errors, strict=True) if error]
            yield from map(Outcome, steps, errors)

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        try:
            return list(self._findings())
        except BackendError as error:
            return [Finding(ok=False, text=f"cannot be read: {error}", blocks=True)]

    def close(self) -> None:
        """Let go of what is held."""
        self._tree.close()

    def listing(self, path: tuple[str, ...], below: Path, known: str) -> list[Entry]:
        """The files and folders in the folder of an object, or in one below it, by their names.

        `known` is the id of the object's folder, where one was seen.  Raises Gone where there is no such
        folder or it is another by now, Rejected where it holds more than MOST_LISTED.
        """
        place = self._places.of(self._places.holds, path)
        folder = (*place.folder, *below)
        with self._tree.top(place.folder) as top:
            if known and self._tree.id_of(top) != known:
                raise Gone("the folder is not the one that was registered")
        if any(folder[: len(other)] == other for other in place.skip):
            raise Gone("that folder is another object's")
        entries: list[Entry] = []
        with self._tree.top(folder) as node:
            for entry in self._tree.entries(node):
                if (*folder, entry.name) not in place.skip:
                    entries.append(entry)
                if len(entries) > MOST_LISTED:
                    raise Rejected(f"the folder holds more than {MOST_LISTED} files: ask for a folder in it")
        return sorted(entries, key=lambda entry: entry.name)

    # what was seen, by the keys of people

    def _observation(self, seen: Seen) -> Observation:
        keys = {
            user: self._key(user, seen.names.get(user, "")) for user in sorted({*seen.rights, *seen.amiss})
        }
        members = {
            key: frozenset({key[len(_PERSON) :]} if key.startswith(_PERSON) else ()) for key in keys.values()
        }
        return Observation(
            complete=seen.troubles.first is None,
            position=str(time.time_ns()),
            objects=tuple(sorted(seen.objects, key=lambda item: (item.kind, item.path))),
            people=frozenset(name for name in self._people if self._tree.user(name) is not None),
            roles={key: frozenset(seen.rights[user]) for user, key in keys.items()},
            members=members,
            foreign=tuple(sorted(seen.foreign, key=lambda right: (right.right, right.holder))),
            bypasses=tuple(
                sorted(seen.bypasses, key=lambda bypass: (bypass.path or (), bypass.holder, bypass.what))
            ),
            unknown=tuple(seen.unknown),
            amiss_rights={key: frozenset(seen.amiss[user]) for user, key in keys.items()},
            groups=seen.groups,
        )

    def _key(self, user: str, name: str) -> str:
        """The person's key; that of the bare account when it is somebody else's or nobody's by now."""
        return f"{_PERSON}{name}" if name and self._tree.user(name) == user else f"{_NUMBER}{user}"

    def _account(self, key: str) -> str:
        """The id of the account that a key means.  Raises Gone."""
        if key.startswith(_NUMBER):
            return key[len(_NUMBER) :]
        user = self._tree.user(key[len(_PERSON) :]) if key.startswith(_PERSON) else None
        if user is None:
            raise Gone(f"{key} has no account there")
        return user

    # deeds

    def _done(self, steps: Sequence[Step], failed: Sequence[Step]) -> list[BackendError | None]:
        """What became of steps of one kind."""
        errors = [self._kept_from(step, failed) for step in steps]
        able = [step for step, error in zip(steps, errors, strict=True) if error is None]
        try:
            results = self._do(able)
        except BackendError as error:
            results = dict.fromkeys(map(id, able), error)
        return [error or results.get(id(step)) for step, error in zip(steps, errors, strict=True)]

    def _kept_from(self, step: Step, failed: Sequence[Step]) -> BackendError | None:
        """What keeps a step from being tried: another failed, nobody is there, or no such right is known."""
        if error := kept_back(step, failed):
            return error
        for right in step.rights:
            if right.right not in BITS:
                return Rejected(f"{right.right} is no right on a folder")
        try:
            if step.kind in ("give", "take"):
                self._account(step.role)
            elif step.kind == "switch" and step.joins and self._tree.user(step.person) is None:
                raise Gone(f"{step.person} has no account there")
        except Gone as error:
            return error
        return None

    def _do(self, steps: Sequence[Step]) -> dict[int, BackendError]:
        """Errors by step; steps for which there is nothing to do in the backend are done."""
        if not steps or steps[0].kind not in ("give", "take", "take_foreign"):
            return {}
        with self._tree.alone():
            if steps[0].kind == "take_foreign":
                return self._take_foreign(steps)
            # each folder once, for everybody
            on: dict[tuple[str, tuple[str, ...]], dict[int, int]] = defaultdict(lambda: defaultdict(int))
            by_id = {id(step): step for step in steps}
            for step in steps:
                for right in step.rights:
                    on[right.kind, right.path][id(step)] |= BITS[right.right]
            errors: dict[int, BackendError] = {}
            for (kind, path), bits in sorted(on.items()):
                place = self._changed_place(kind, path, by_id, bits)
                if len(bits) > 1 and any(isinstance(error, Rejected) for error in place.values()):
                    # who still fits into a list that is full for all of them together is let in
                    place = {}
                    for number in bits:
                        place |= self._changed_place(kind, path, by_id, {number: bits[number]})
                errors = {**place, **errors}
            return errors

    def _changed_place(
        self, kind: str, path: tuple[str, ...], steps: Mapping[int, Step], bits: Mapping[int, int]
    ) -> dict[int, BackendError]:
        try:
            place = self._places.of(kind, path)
            more: dict[str, Ours] = {}
            less: dict[str, int] = {}
            for number, some in bits.items():
                role = steps[number].role
                if steps[number].kind == "give":
                    more[self._account(role)] = Ours(role[len(_PERSON) :], some)
                else:
                    less[self._account(role)] = some
            if more:
                give(self._places, place, more)
            if less:
                take(self._places, place, less)
        except BackendError as error:
            if not (isinstance(error, Gone) and all(steps[number].kind == "take" for number in bits)):
                return dict.fromkeys(bits, type(error)(f"{kind} {'.'.join(path)}: {error}"))
        return {}

    def _take_foreign(self, steps: Sequence[Step]) -> dict[int, BackendError]:
        errors: dict[int, BackendError] = {}
        for step in steps:
            try:
                holder = self._holder(step.person)
                for right in step.rights:
                    take_foreign(
                        self._places, self._places.of(right.kind, right.path), holder, BITS[right.right]
                    )
            except Gone:
                continue
            except BackendError as error:
                errors[id(step)] = error
        return errors

    def _holder(self, label: str) -> Name:
        """Whose entry a label means, as an observation tells it.  Raises Gone."""
        if label.startswith("#"):
            return "user", label[1:]
        group = label.startswith("group:")
        number = self._tree.group_id(label[len("group:") :]) if group else self._tree.user(label)
        if number is None:
            raise Gone(f"there is no {label}")
        return ("group" if group else "user"), number


def _alike(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Neighbours that give, neighbours that take; every other step alone."""
    together: list[Step] = []
    for step in steps:
        if together and not (step.kind == together[0].kind and step.kind in ("give", "take")):
            yield together
            together = []
        together.append(step)
    if together:
        yield together


def kind(**words: object) -> Kind:
    """What a kind of backend for files says of itself, whichever it is."""
    shared: dict[str, object] = {
        "provider": "hadoop",
        "catalog_type": "fileset",
        "by_person": True,
        "needs": ("places", "people"),
        "objects": OBJECTS,
        "carried": CARRIED,
    }
    return Kind(**{**shared, **words})  # type: ignore[arg-type]
