"""Giving and taking entries in a folder and everything in it, so that dying anywhere leaves no doubt.

The order of the writes is what makes it so.  Giving: first the mark says that a person is ours here, then
what others gave them before is looked up and written down beside each entry, and only then entries
change.  Taking: first the entries, from the top, then the mark.  Whatever is left by a death in between is
seen as a right that is there but not as it should be, and is given or taken again.  What is written beside an
entry counts only while the mark of the whole names its user, and is looked for anew before it counts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace

from lakewarden.backends.errors import BackendError, Gone
from policies.sync.backends.files.acl import ENTER, READ, WRITE, Acl, Name, changed, inherited
from policies.sync.backends.files.mark import Mark, Ours, Theirs, mark_in, text_of
from policies.sync.backends.files.places import ELSEWHERE, Place, Places
from policies.sync.backends.files.tree import Node, Path, Tree, Troubles


def give(places: Places, place: Place, people: Mapping[str, Ours]) -> None:
    """Give people bits in a place, and the way to it."""
    tree = places.tree
    _remember_elsewhere(places, place)
    with tree.top(place.folder) as top:
        mark = _claim(tree, top, place, people)
        troubles = Troubles()
        if place.whole:
            # new files get theirs from the first moment; access to the whole comes last
            _hand_down(tree, top, mark, people)
            for node in tree.below(top, place.skip, troubles):
                _write(tree, node, mark, people, troubles, more=True)
    with tree.top(place.folder) as top:
        # read again, as the walk may have been long and its list changed meanwhile
        _write_access(tree, top, mark, mark, people)
    _open_way(places, place, people)
    _raise(troubles)


def take(places: Places, place: Place, people: Mapping[str, int]) -> None:
    """Take bits from people in a place, and the way to it when nothing is left them there."""
    tree = places.tree
    with tree.top(place.folder) as top:
        mark = _marked(tree, top, people)
        ours = {user: bits for user, bits in people.items() if user in mark.ours}
        if mark.new & ours.keys():
            mark = _claim(tree, top, place, {user: mark.ours[user] for user in ours})
        left, troubles = mark.take(ours), Troubles()
        _write_access(tree, top, left, mark, ours)
        if place.whole:
            _hand_down(tree, top, replace(left, theirs=mark.theirs), ours)
            for node in tree.below(top, place.skip, troubles):
                _write(tree, node, left, ours, troubles, more=False)
        _raise(troubles)
        _set(tree, top, mark, left)
        _tidy(tree, top, place, left)
    _shut(places, place, [user for user in people if user not in left.ours])


def take_foreign(places: Places, place: Place, holder: Name, bits: int) -> None:
    """Take bits that others gave somebody; what we gave them stays."""
    tree, troubles = places.tree, Troubles()
    with tree.top(place.folder) as top:
        mark = mark_in(tree.mark(top))
        _take_theirs(tree, top, mark, mark, holder, bits)
        if place.whole:
            for node in tree.below(top, place.skip, troubles):
                try:
                    own = mark_in(tree.mark(node)) if mark.inside else Mark()
                    _take_theirs(tree, node, mark, own, holder, bits)
                except BackendError as error:
                    troubles(error, node.path)
    _raise(troubles)


def wanted_bits(node: Node, bits: int) -> int:
    """What of a person's bits makes sense on this: a file needs the bit to enter only if it can be run."""
    if node.folder:
        return bits
    return bits & (READ | WRITE) | (bits & ENTER & node.access.owner)


# before anything is given


def _claim(tree: Tree, top: Node, place: Place, people: Mapping[str, Ours]) -> Mark:
    """Write down that people are ours here, and what others gave them before; entries stay as they were."""
    before = _marked(tree, top, people)
    mark = before.give(people)
    users = mark.new & people.keys()
    # what lets somebody pass through is ours already, and what others gave them is known
    mark = _noted(top, mark, users - mark.ways.keys()) if users else mark
    if not place.whole:
        # one folder alone needs one write alone
        mark = mark.known(users)
    _set(tree, top, before, mark)
    return _claim_inside(tree, top, place, mark, users) if mark.new & users else mark


def _claim_inside(tree: Tree, top: Node, place: Place, mark: Mark, users: frozenset[str]) -> Mark:
    troubles = Troubles()
    for node in tree.below(top, place.skip, troubles):
        own = mark_in(tree.mark(node)) if mark.inside else Mark()
        noted = _noted(node, own, users)
        if noted != own and not mark.inside:
            mark = _set(tree, top, mark, replace(mark, inside=True))
        _set(tree, node, own, noted)
    _raise(troubles)
    return _set(tree, top, mark, mark.known(users))


def _noted(node: Node, own: Mark, users: Iterable[str]) -> Mark:
    """With what users have now by others' gift, and that new things get a list though it names nobody."""
    users = frozenset(users)
    kept = {user: entry for user, entry in own.theirs.items() if user not in users}
    bare = node.handed_down is not None and not node.handed_down.named
    return replace(own, theirs={**kept, **_theirs(node, users)}, handed_down=own.handed_down or bare)


def _marked(tree: Tree, node: Node, users: Iterable[str]) -> Mark:
    """The mark, without what was taken by hand of others' gifts: it must not come back beside ours."""
    mark = mark_in(tree.mark(node))
    theirs = dict(mark.theirs)
    for user in theirs.keys() & frozenset(users) - mark.new:
        access, down = _entry(node, ("user", user))
        had = theirs.pop(user)
        left = (_common(had[0], access), _common(had[1], down))
        if left != (None, None):
            theirs[user] = left
    return _set(tree, node, mark, replace(mark, theirs=theirs))


def _common(had: int | None, has: int | None) -> int | None:
    return None if had is None or has is None else had & has


def _theirs(node: Node, users: Iterable[str]) -> dict[str, Theirs]:
    """What users had before us, of those who had anything."""
    places = {}
    for user in sorted(users):
        access = node.access.named.get(("user", user))
        down = node.handed_down.named.get(("user", user)) if node.handed_down else None
        if (access, down) != (None, None):
            places[user] = (access, down)
    return places


def _set(tree: Tree, node: Node, before: Mark, mark: Mark) -> Mark:
    if mark != before:
        tree.set_mark(node, text_of(mark))
    return mark


def _remember_elsewhere(places: Places, place: Place) -> None:
    """Note a folder off the usual places at the root first: it is found when it is no object's any more."""
    off = {place.folder, *place.way} if place.way or place.folder != place.path else set()
    off = {folder for folder in off if len(folder) != 1}
    if place.kind == ELSEWHERE or not off:
        return
    with places.tree.top(()) as root:
        mark = mark_in(places.tree.mark(root))
        _set(places.tree, root, mark, replace(mark, elsewhere=mark.elsewhere | off))


# entries


def _write(
    tree: Tree, node: Node, mark: Mark, users: Iterable[str], troubles: Troubles, *, more: bool
) -> None:
    """Bring the entries of users in one file or folder up to the mark of the whole."""
    if node.other_names and more:
        return  # it lies elsewhere too, where nobody may have decided anything
    try:
        own = _marked(tree, node, users) if mark.inside else Mark()
        _write_access(tree, node, mark, own, users)
        if node.folder:
            _hand_down(tree, node, replace(own, ours=mark.ours), users)
    except BackendError as error:
        troubles(error, node.path)


def _tidy(tree: Tree, top: Node, place: Place, mark: Mark) -> None:
    """Let go of what is written beside entries of nobody of ours."""
    if mark.inside:
        troubles = Troubles()
        for node in tree.below(top, place.skip, troubles):
            own = mark_in(tree.mark(node))
            theirs = {user: entry for user, entry in own.theirs.items() if user in mark.ours}
            _set(
                tree, node, own, replace(own, theirs=theirs, handed_down=own.handed_down and bool(mark.ours))
            )
        _raise(troubles)
    if not mark.ours:
        _set(tree, top, mark, replace(mark, inside=False, handed_down=False))


def _write_access(tree: Tree, node: Node, mark: Mark, own: Mark, users: Iterable[str]) -> None:
    """Bring entries up to `mark`; `own` is what this very file or folder knows of others' gifts and ways."""
    entries: dict[Name, int | None] = {}
    for user in users:
        theirs = own.theirs.get(user, (None, None))[0]
        bits = wanted_bits(node, mark.bits(user)) | (ENTER if user in own.ways else 0)
        entries["user", user] = _together(theirs, bits)
    _replace(tree, node, entries)


def _hand_down(tree: Tree, node: Node, mark: Mark, users: Iterable[str]) -> None:
    entries: dict[Name, int | None] = {
        ("user", user): _together(mark.theirs.get(user, (None, None))[1], mark.bits(user)) for user in users
    }
    if node.handed_down is None and not any(entries.values()):
        return
    acl: Acl | None = changed(node.handed_down or inherited(node.access), entries)
    if acl and not acl.named and not mark.handed_down:
        acl = None  # there was none before us
    if acl != node.handed_down:
        tree.hand_down(node, acl)


def _together(theirs: int | None, ours: int) -> int | None:
    return theirs if not ours else ours | (theirs or 0)


def _take_theirs(tree: Tree, node: Node, mark: Mark, own: Mark, holder: Name, bits: int) -> None:
    user = holder[1]
    ours = holder[0] == "user" and user in mark.settled() | own.ways.keys()
    if ours and user not in own.theirs:
        return
    kept = mark.bits(user) if ours else 0
    access, down = own.theirs[user] if ours else _entry(node, holder)
    left = _less(access, bits), _less(down, bits)
    if (access, down) == left:
        return
    way = ENTER if user in own.ways and ours else 0
    _replace(tree, node, {holder: _together(left[0], wanted_bits(node, kept) | way)})
    if node.handed_down is not None and down is not None:
        tree.hand_down(node, changed(node.handed_down, {holder: _together(left[1], kept)}))
    if ours:
        theirs = {**own.theirs, user: left}
        theirs = {each: entry for each, entry in theirs.items() if entry != (None, None)}
        _set(tree, node, own, replace(own, theirs=theirs))


def _replace(tree: Tree, node: Node, entries: Mapping[Name, int | None]) -> None:
    access = changed(node.access, entries)
    if access != node.access:
        tree.write(node, access)


def _entry(node: Node, holder: Name) -> Theirs:
    return node.access.named.get(holder), node.handed_down.named.get(holder) if node.handed_down else None


def _less(had: int | None, bits: int) -> int | None:
    """Without the bits; an entry that gives nothing any more is none, one that never did stays."""
    if had is None or not had & bits:
        return had
    return had & ~bits or None


# the way


def _open_way(places: Places, place: Place, people: Mapping[str, Ours]) -> None:
    tree = places.tree
    for folder in place.way:
        with tree.top(folder) as node:
            before = _marked(tree, node, people)
            fresh = {user for user in people if user not in before.ways and user not in before.ours}
            ways = {**before.ways, **{user: people[user].name for user in people}}
            theirs = {**before.theirs, **_theirs(node, fresh - before.theirs.keys())}
            mark = _set(tree, node, before, replace(before, ways=ways, theirs=theirs))
            _write_access(tree, node, mark, mark, people)


def _shut(places: Places, place: Place, users: Iterable[str]) -> None:
    """Shut folders on the way to those who are given nothing beyond them any more."""
    for folder in (place.folder, *reversed(place.way)):
        try:
            with places.tree.top(folder) as node:
                before = _marked(places.tree, node, users)
                blocked = {user for user in users if user in before.ways}
                blocked -= passing(places, folder) if blocked else set()
                shut = replace(
                    before, ways={user: name for user, name in before.ways.items() if user not in blocked}
                )
                _write_access(places.tree, node, shut, shut, blocked)
                kept = {
                    user: entry
                    for user, entry in before.theirs.items()
                    if user not in blocked or user in before.ours
                }
                _set(places.tree, node, before, replace(shut, theirs=kept))
        except Gone:
            continue


def passing(places: Places, folder: Path) -> set[str]:
    """Those who have something beyond a folder."""
    tree, places_ = places.tree, set[str]()
    for other in places.all_placed():
        if folder in other.way:
            with ExitStack() as stack:
                try:
                    node = stack.enter_context(tree.top(other.folder))
                except Gone:
                    continue
                places_ |= mark_in(tree.mark(node)).ours.keys()
    return places_


def _raise(troubles: Troubles) -> None:
    if troubles.first:
        raise troubles.first
