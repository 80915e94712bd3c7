"""One look at a tree of files: whose entries are where, which of them are ours, and who needs none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from lakewarden.backends.base import Bypass, Foreign, FoundObject, Right
from lakewarden.backends.errors import BackendError, Gone, Rejected
from policies.sync.backends.files.acl import ENTER, READ, WRITE, Acl, Name, words
from policies.sync.backends.files.apply import passing
from policies.sync.backends.files.mark import Mark, mark_in
from policies.sync.backends.files.places import ELSEWHERE, Place, Places
from policies.sync.backends.files.tree import Node, Tree, Troubles
from policies.sync.backends.shared import powers

_SHAPES = 10_000
"""So many different lists are remembered as already counted."""


@dataclass
class Counted:
    """What was seen in one place.  `ours` are bits of people of ours, `lacking` those missing somewhere."""

    ours: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    lacking: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    foreign: dict[Name, int] = field(default_factory=lambda: defaultdict(int))
    owners: set[str] = field(default_factory=set)
    groups: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    others: int = 0
    linked: int = 0
    _shapes: set[Hashable] = field(default_factory=set)

    def add(self, node: Node, mark: Mark, own: Mark) -> None:
        """Count a file or folder in; `mark` is of the whole, `own` its own."""
        self.linked += node.other_names
        # most files are alike
        if not own.theirs and not own.ways:
            if node.shape in self._shapes:
                return
            if len(self._shapes) < _SHAPES:
                self._shapes.add(node.shape)
        self.owners.add(node.owner)
        sense = READ | WRITE | ENTER if node.folder else READ | WRITE
        self.groups[node.group] |= node.access.group_has & sense
        self.others |= node.access.other & sense
        lists: list[tuple[Acl, int]] = [(node.access, 0)]
        if node.handed_down is not None:
            lists.append((node.handed_down, 1))
        for acl, which in lists:
            self._add_list(acl, which, sense, mark, own)
        if not node.other_names:
            for user, mine in mark.ours.items():
                name = ("user", user)
                has_entry = node.access.has(name)
                if node.handed_down is not None:
                    has_entry &= node.handed_down.has(name)
                self.lacking[user] |= mine.bits & sense & ~has_entry

    def _add_list(self, acl: Acl, which: int, sense: int, mark: Mark, own: Mark) -> None:
        settled = mark.settled()
        for name in acl.named:
            kind, user = name
            bits = acl.has(name) & sense
            way = ENTER if kind == "user" and user in own.ways and not which else 0
            if kind == "user" and (user in settled or way):
                theirs = own.theirs.get(user, (None, None))[which] or 0
                self.foreign[name] |= bits & theirs
                if user in settled:
                    self.ours[user] |= bits & ~(theirs | way) | bits & mark.bits(user)
            else:
                self.foreign[name] |= bits


@dataclass
class Seen:
    """All that a look found.  `rights` and `amiss` are by the id of an account."""

    objects: list[FoundObject] = field(default_factory=list)
    rights: dict[str, set[Right]] = field(default_factory=lambda: defaultdict(set))
    amiss: dict[str, set[Right]] = field(default_factory=lambda: defaultdict(set))
    foreign: set[Foreign] = field(default_factory=set)
    groups: dict[str, frozenset[str]] = field(default_factory=dict)
    bypasses: set[Bypass] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    troubles: Troubles = field(default_factory=Troubles)


def look(places: Places) -> Seen:
    """Read the whole tree once.  Raises BackendError when not even its root can be read."""
    seen = Seen(unknown=list(places.unknown))
    with places.tree.top(()) as root:
        elsewhere = mark_in(places.tree.mark(root)).elsewhere
    usual = list(_usual(places, seen))
    for place in (*usual, *places.all_placed(), *_elsewhere(places, usual, elsewhere)):
        try:
            _see(places, place, seen)
        except Gone:
            continue  # it went meanwhile
        except Rejected as error:
            seen.unknown.append(f"{place.kind} {'.'.join(place.path)}: {error}")
            seen.troubles(error, place.folder)
        except BackendError as error:
            seen.troubles(error, place.folder)
    seen.unknown += seen.troubles.left_out
    if seen.troubles.first:
        seen.unknown.append(f"not all could be read: {seen.troubles.first}")
    return seen


def _usual(places: Places, seen: Seen) -> Iterator[Place]:
    tree = places.tree
    yield places.of("catalog", ())
    schemas, folders = [], []
    with tree.top(()) as root:
        schemas = [node.path[-1] for node in tree.folders(root) if _has_name(node, seen)]
    for schema in sorted(schemas):
        yield places.of("schema", (schema,))
        try:
            with tree.top((schema,)) as node:
                folders = [below.path[-1] for below in tree.folders(node) if _has_name(below, seen)]
        except BackendError as error:
            seen.troubles(error, (schema,))
            continue
        places_ = (places.usual(schema, name) for name in sorted(folders))
        yield from (place for place in places_ if place is not None)


def _has_name(node: Node, seen: Seen) -> bool:
    name = node.path[-1]
    if name.startswith(".") or name == "lost+found":
        return False
    try:
        if name.encode() and name.isprintable():
            return True
    except UnicodeEncodeError:
        pass
    seen.unknown.append(f"folder {'/'.join(node.path)!a}: its name cannot be an object's")
    return False


def _elsewhere(places: Places, usual: Iterable[Place], folders: Iterable[tuple[str, ...]]) -> Iterator[Place]:
    """Folders that carry a mark of ours and are no object's."""
    used_folders = {place.folder for place in usual} | places.used
    yield from (places.of(ELSEWHERE, folder) for folder in sorted(folders) if folder not in used_folders)


def _see(places: Places, place: Place, seen: Seen) -> None:
    tree, counted = places.tree, Counted()
    with tree.top(place.folder) as top:
        mark = mark_in(tree.mark(top))
        if place.kind == ELSEWHERE and not mark.ours and not mark.ways:
            return
        if place.kind != ELSEWHERE:
            owner = tree.named(top.owner) or f"#{top.owner}"
            seen.objects.append(FoundObject(place.kind, place.path, tree.id_of(top), owner=owner))
        counted.add(top, mark, mark)
        if place.whole and (place.kind != ELSEWHERE or mark.ours):
            for node in tree.below(top, place.skip, seen.troubles):
                try:
                    counted.add(node, mark, mark_in(tree.mark(node)) if mark.inside else Mark())
                except BackendError as error:
                    seen.troubles(error, node.path)
    seen.names |= {user: mine.name for user, mine in mark.ours.items()} | dict(mark.ways)
    _rights(places, place, mark, counted, seen)
    if place.kind != ELSEWHERE:
        _foreign(tree, place, counted, seen)
        _bypasses(tree, place, top, counted, seen)
    if counted.linked:
        seen.unknown.append(
            f"{place.kind} {'.'.join(place.path)}: {counted.linked} files lie elsewhere too (hard links), "
            "so nothing is given on them"
        )


def _rights(places: Places, place: Place, mark: Mark, counted: Counted, seen: Seen) -> None:
    # people of ours who cannot come as far as the place
    shut: set[str] = set()
    for folder in place.way if mark.ours else ():
        with places.tree.top(folder) as node:
            ways = mark_in(places.tree.mark(node)).ways
            shut |= {
                user for user in mark.ours if user not in ways or not node.access.has(("user", user)) & ENTER
            }
    for user in mark.ours:
        ours = mark.bits(user)
        amiss = counted.lacking[user] | ~ours | (ours if user in mark.new or user in shut else 0)
        for bits, rights in ((counted.ours[user] | ours, seen.rights), (amiss, seen.amiss)):
            bits_there = bits & (counted.ours[user] | ours)
            rights[user] |= {Right(place.kind, place.path, word) for word in words(bits_there)}
    left_open = mark.ways.keys() - mark.ours.keys()
    for user in left_open - passing(places, place.folder) if left_open else ():
        right = Right(place.kind, place.path, "ENTER")
        seen.rights[user].add(right)
        seen.amiss[user].add(right)


def _foreign(tree: Tree, place: Place, counted: Counted, seen: Seen) -> None:
    for (kind, number), bits in counted.foreign.items():
        if kind == "group":
            name, people = tree.group(number)
            holder = f"group:{name}"
            seen.groups[holder] = people
        else:
            holder = tree.named(number) or f"#{number}"
        seen.foreign |= {Foreign(Right(place.kind, place.path, word), holder) for word in words(bits)}


def _bypasses(tree: Tree, place: Place, top: Node, counted: Counted, seen: Seen) -> None:
    """Users with rights beside an entry of their own, as far as they come through the folder itself."""
    for number in counted.owners - {tree.everything}:
        power = powers.OWNS_FOLDER if number == top.owner else powers.OWNS_FILES
        seen.bypasses.add(Bypass(tree.named(number) or f"#{number}", power.english(), place.path))
    for number, bits in counted.groups.items():
        # whether people of a group come into the folder
        mine = top.access.group_has if number == top.group else top.access.has(("group", number))
        enters = bool((mine | top.access.other) & ENTER)
        reached = bits if enters else top.access.group_has * (number == top.group)
        if reached and number != tree.everything:
            name, _ = tree.group(number)
            what = powers.AS_OWNING_GROUP.english(rights=_bits_text(reached))
            seen.bypasses.add(Bypass(f"group:{name}", what, place.path))
    others = counted.others if top.access.other & ENTER else top.access.other
    if others:
        what = powers.BY_OTHER_BITS.english(rights=_bits_text(others))
        seen.bypasses.add(Bypass("everybody", what, place.path))


def _bits_text(bits: int) -> str:
    return ", ".join(words(bits))
