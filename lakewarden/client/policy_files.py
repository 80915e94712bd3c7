"""Policy files over the console's API: the console writes and reads them, here they are only carried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from lakewarden.client.calculations import Progress, follow
from lakewarden.client.simulations import refused_uses
from lakewarden.client.transport import Transport, Unavailable

POLICIES = "/authz/v1/policies"
NOTHING, CHANGES, REMOVALS = 0, 3, 4
"""How a plan leaves, for pipelines: nothing to do, something to add or change, something to remove."""
WAITS = 5
"""How applying leaves where another person has to approve the plan first."""


def export(line: Transport, realm: str, *, objects: bool = True, tree: bool = False) -> str:
    """A realm as a policy file, or as the files of a tree in one text.  Raises ConsoleError."""
    query = {"realm": realm, "all": "true" if objects else "false"}
    answer = line.get(POLICIES, {**query, **({"tree": "true"} if tree else {})}).value or {}
    if not isinstance(answer.get("file"), str):
        raise Unavailable(f"{line.url} sent an answer that is not a policy file")
    return str(answer["file"])


def plan(
    line: Transport, file: str, *, replay_days: Optional[int] = None, progress: Optional[Progress] = None
) -> dict[str, Any]:
    """What a file would change; of a large effect until it is worked out.  Raises ConsoleError."""
    replay = {} if replay_days is None else {"replay": {"days": replay_days}}
    planned = line.post(f"{POLICIES}/plan", {"file": file, "effects": True, **replay})
    if not planned.get("calculation"):
        return planned
    done = follow(line, planned, progress)
    return {**planned, "totals": done["totals"], "replay": done["replay"]}


def apply(line: Transport, file: str, plan: str, reason: str = "") -> dict[str, Any]:
    """Apply a file as it was planned, or ask for its approval: then nothing was done, and `waits_for` says
    whom it waits for.  Raises Conflicting when the world moved since, ConsoleError.
    """
    return line.post(f"{POLICIES}/apply", {"file": file, "plan": plan, "reason": reason})


def drift(line: Transport, realm: str) -> dict[str, Any]:
    """What was changed beside a realm's policy files since they were applied.  Raises ConsoleError."""
    answer = line.get(f"{POLICIES}/drift", {"realm": realm}).value
    if not isinstance(answer, dict) or not isinstance(answer.get("files"), list):
        raise Unavailable(f"{line.url} sent an answer that does not say what differs from policy files")
    return answer


def read_from(line: Transport, source: str, text: str, *, realm: str, catalog: str = "") -> dict[str, Any]:
    """What another system wrote, as a policy file and a report.  Raises ConsoleError."""
    body = {"system": source, "text": text, "realm": realm, "catalog": catalog}
    return line.post(f"{POLICIES}/import", body)


def report(answer: Mapping[str, Any]) -> Iterator[str]:
    """What an import left out, and what it added.  Raises KeyError, TypeError for what is none."""
    for item in answer["left_out"]:
        yield f"LEFT OUT {item['what']}: {item['why']}"
    for item in answer["added"]:
        yield f"added {item['what']}: {item['why']}"
    yield f"{len(answer['left_out']):,} left out, {len(answer['added']):,} added"


def drifted(answer: Mapping[str, Any], *, sections: bool = False) -> Iterator[str]:
    """What differs, for a terminal, file by file; with `sections` also what to paste into each.

    Raises KeyError, TypeError for what is no such answer.
    """
    for file in answer["files"]:
        head = f"file that owns {', '.join(file['owns'])}, applied {file['at']} by change {file['revision']}"
        yield (
            f"{head}: {file['count']:,} differ"
            if file["kept"]
            else f"{head}: its content is lost, apply it again"
        )
        yield from map(_drift_line, file["results"])
        hidden = file["count"] - len(file["results"])
        if hidden:
            yield f"  {hidden:,} more"
        if sections and file["count"]:
            yield from (f"  remove from the file: {name}" for name in file["gone"])
            yield from (f"    {each}" for each in file["sections"].splitlines())
    if not answer["files"]:
        yield f"no applied policy file owns a part of {answer['realm']}"


def _drift_line(line: Mapping[str, Any]) -> str:
    made, text = line["change"], f"  {line['action']} {line['text']}"
    if made is None:
        return f"{text} (by whom: see the archive)"
    who = f"{made['by']} on behalf of {made['on_behalf_of']}" if made["on_behalf_of"] else made["by"]
    why = f": {made['reason']}" if made["reason"] else ""
    return f"{text} (change {made['revision']}, {made['at']}, {who} by {made['via']}{why})"


def leaves_drift(answer: Mapping[str, Any]) -> int:
    """The exit code of what differs: as of a plan that has something to do, or 0."""
    lost = not all(file["kept"] for file in answer["files"])
    return CHANGES if answer["count"] or lost else NOTHING


def leaves(planned: Mapping[str, Any]) -> int:
    """The exit code of a plan."""
    if planned["removals"]["count"]:
        return REMOVALS
    return CHANGES if planned["adds"]["count"] or planned["changes"]["count"] else NOTHING


def applied(done: Mapping[str, Any]) -> str:
    """What came of applying, in a line.  Raises KeyError, TypeError for what is no such answer."""
    waits = done["waits_for"]
    if waits is None:
        steps = sum(done[name]["count"] for name in ("adds", "changes", "removals"))
        return f"{steps:,} steps applied to {done['realm']}"
    who = " or ".join(waits["deciders"]) or "a person who may grant in the realm (there is none yet)"
    waiting = f"request {waits['request']}, page {waits['page']}, until {waits['lapses_at']}"
    return f"nothing applied: the plan waits for approval by {who} ({waiting}); then apply it again"


def lines(planned: Mapping[str, Any]) -> Iterator[str]:
    """A plan for a terminal, removals last and loudest.  Raises KeyError, TypeError for what is none."""
    for word, name in (("add", "adds"), ("change", "changes"), ("REMOVE", "removals")):
        yield from (f"  {word} {step}" for step in planned[name]["results"])
        hidden = planned[name]["count"] - len(planned[name]["results"])
        if hidden:
            yield f"  {word} {hidden:,} more"
    counts = [planned[name]["count"] for name in ("adds", "changes", "removals")]
    yield "{:,} to add, {:,} to change, {:,} to REMOVE".format(*counts)
    totals, replay = planned["totals"], planned["replay"]
    if totals is not None:
        yield f"{totals['people_losing']:,} people lose access, {totals['people_gaining']:,} gain access"
    if replay is not None:
        covered = f"{replay['reported']:,} of {replay['objects']:,} objects with data"
        refused = f"{replay['refused']['count']:,} reported uses would be refused"
        yield f"{refused}; the reports of {replay['days']} days cover {covered}"
        yield from refused_uses(replay)
    if planned.get("needs_approval"):
        yield "another person must approve it: apply requests that"
    yield f"plan {planned['plan']}"
