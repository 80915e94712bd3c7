"""Why, and what is held, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from lakewarden.client.snapshot import Snapshot


def why(explained: Mapping[str, Any]) -> Iterator[str]:
    """A decision as the console explains it: the tree, then what is lacking and where to ask for it."""
    resource = explained.get("resource") or {}
    may = "may" if explained.get("decision") is True else "may not"
    on = f"{resource.get('type')} {resource.get('id')}"
    yield f"{explained.get('principal')} {may} {explained.get('action')} {on}"
    yield from _branch(explained.get("tree") or {}, 1)
    for lack in explained.get("missing") or ():
        owner = f" (owner: {lack['owner']})" if lack.get("owner") else ""
        yield f"  lacks {lack.get('privilege') or lack.get('kind')}{_on(lack)}{owner}"
    if explained.get("request_url"):
        yield f"  request access: {explained['request_url']}"


def _branch(tree: Mapping[str, Any], depth: int) -> Iterator[str]:
    what = tree.get("label") or tree.get("privilege") or tree.get("kind")
    kind = {"all": "all of", "any": "one of"}.get(str(tree.get("kind")), "")
    label = f"{kind}: {what}" if kind and what != tree.get("kind") else kind or what
    if tree.get("kind") == "owner":
        label = "ownership"
    ways = "; ".join(sorted(set(_ways(tree.get("rules") or ()))))
    notes = [", denied"] if tree.get("denied") else []
    notes += [f" ({ways})"] if ways else []
    yield f"{'  ' * depth}{'yes' if tree.get('holds') else 'no '} {label}{_on(tree)}{''.join(notes)}"
    for child in tree.get("children") or ():
        yield from _branch(child, depth + 1)


def _ways(rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        yield (
            " > ".join(f"{item.get('kind')} {item.get('name')}" for item in rule.get("via") or ())
            or "directly"
        )


def _on(lack: Mapping[str, Any]) -> str:
    ref = lack.get("object") or {}
    return f" on {ref.get('type')} {ref.get('id')}" if ref else ""


def held(snapshot: Snapshot) -> str:
    """What a snapshot is of, and until when it is good."""
    rules = snapshot.slice.rules
    objects = len({rule.object for rule in rules})
    until = datetime.fromtimestamp(snapshot.good_until, timezone.utc)
    return (
        f"{snapshot.principal} in {snapshot.realm}, revision {snapshot.revision}: "
        f"{len(rules)} facts on {objects} objects, {len(snapshot.locations)} locations, "
        f"good until {until.isoformat(timespec='seconds')}"
    )
