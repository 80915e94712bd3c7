"""What changes would do, asked of the console and written as lines for a terminal; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional

from lakewarden.client.calculations import Progress, follow
from lakewarden.client.transport import BadQuestion, Transport

SIMULATE = "/authz/v1/simulate"
LISTED = ("privileges",)
"""Fields of a change that hold several values, which a comma parts on a command line."""
SHOWN = 20
REPLAYED = {
    "refused": "would be refused",
    "allowed": "would now be allowed",
    "gone": "of deleted objects, so not decided",
}
"""The parts of a replay, and what is said of the uses in each."""


def simulate(
    line: Transport,
    realm: str,
    changes: Sequence[Mapping[str, Any]],
    *,
    questions: Sequence[Mapping[str, Any]] = (),
    replay_days: Optional[int] = None,
    limit: int = 100,
    cursor: str = "",
    progress: Optional[Progress] = None,
) -> dict[str, Any]:
    """What the console answers; of a large effect when it is worked out, with its first changes.

    Raises ConsoleError.
    """
    body: dict[str, Any] = {
        "realm": realm,
        "changes": list(changes),
        "questions": list(questions),
        "limit": limit,
        "cursor": cursor,
    }
    if replay_days is not None:
        body["replay"] = {"days": replay_days}
    answer = line.post(SIMULATE, body)
    if not answer.get("calculation"):
        return answer
    done = follow(line, answer, progress)
    difference = {"totals": done["totals"], "results": done["results"], "next": None}
    return {**answer, "at": done["at"], "difference": difference, "replay": done["replay"]}


def read_change(words: Sequence[str]) -> dict[str, Any]:
    """A change as words: `grant principal=user:ana resource=table:… privileges=SELECT_TABLE`.

    Raises BadQuestion.
    """
    if not words or "=" in words[0]:
        raise BadQuestion("start with a change, such as grant, revoke or unassign_role")
    change: dict[str, Any] = {"change": words[0]}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadQuestion(f"`{word}` is not a field of a change; write principal=user:ana")
        change[name] = value.split(",") if name in LISTED else value
    return change


def refuses_uses(answer: Mapping[str, Any]) -> bool:
    """Whether a use that was reported would be refused."""
    return bool(((answer.get("replay") or {}).get("refused") or {}).get("count"))


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """An answer for a terminal.  Raises AttributeError, KeyError, TypeError for what is none."""
    totals, difference = answer["difference"]["totals"], answer["difference"]
    yield f"{answer['realm']} at revision {answer['revision']}"
    for name, singular, plural in (("losing", "loses", "lose"), ("gaining", "gains", "gain")):
        people, objects = totals[f"people_{name}"], _count(totals[f"objects_{name}"], "object", "objects")
        yield f"  {_count(people, f'person {singular}', f'people {plural}')} access, on {objects}"
    for item in difference["results"][:SHOWN]:
        words = [f"loses {', '.join(item['loses'])}"] if item["loses"] else []
        words += [f"gains {', '.join(item['gains'])}"] if item["gains"] else []
        yield f"    {item['principal']} {' and '.join(words)} on {_resource(item)}"
    if len(difference["results"]) > SHOWN or difference["next"]:
        yield "    and more"
    for decision in answer["decisions"]:
        yield f"  {_decision(decision)}"
    if answer["replay"] is not None:
        yield from _replay(answer["replay"])


def refused_uses(replay: Mapping[str, Any]) -> Iterator[str]:
    """The uses that would be refused, some of them one by one."""
    yield from _uses(replay["refused"]["results"][:SHOWN])
    if replay["refused"]["count"] > SHOWN:
        yield "      and more"


def _replay(replay: Mapping[str, Any]) -> Iterator[str]:
    objects = f"{replay['reported']} of {_count(replay['objects'], 'object', 'objects')} with data"
    yield f"  in the last {replay['days']} days; the reports cover {objects}"
    for name, words in REPLAYED.items():
        uses = replay.get(name, {"count": 0, "results": []})  # an older console does not name what is gone
        if uses["count"] or name != "gone":
            yield f"    {_count(uses['count'], 'use', 'uses')} {words}"
        yield from _uses(uses["results"][:SHOWN])
        if uses["count"] > SHOWN:
            yield "      and more"


def _uses(uses: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for use in uses:
        jobs = f", reported by {', '.join(use['jobs'])}" if use["jobs"] else ""
        times = _count(use["times"], "time", "times")
        yield f"      {use['principal']} {use['action']} {_resource(use)}: {times}, last {use['last']}{jobs}"


def _decision(decision: Mapping[str, Any]) -> str:
    before, after = ("may" if decision[when]["decision"] else "may not" for when in ("before", "after"))
    subject = f"{decision['subject']['type']}:{decision['subject']['id']}"
    return f"{subject} {decision['action']['name']} {_resource(decision)}: {before} now, {after} then"


def _resource(item: Mapping[str, Any]) -> str:
    return f"{item['resource']['type']} {item['resource']['id']}"


def _count(number: int, single: str, several: str) -> str:
    return f"{number:,} {single if number == 1 else several}"
