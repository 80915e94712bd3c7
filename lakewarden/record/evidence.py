"""Evidence about one object, checked without the site: who could do what to it, by which facts, until when.

Every change in it is in the signed tree.  Every row rests on facts that these changes began and had not ended
by then, that lead from the person to the object, and the law is applied to them again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lakewarden.law.facts import Rule
from lakewarden.record import complete, notes
from lakewarden.record.archive import Broken, ProvedStatements, proved
from lakewarden.record.placement import Placement
from lakewarden.record.stated_facts import ROLE, Facts, kind, moment_of


def check(
    archive: zipfile.ZipFile,
    head: notes.Checkpoint,
    manifest: Mapping[str, Any],
    person: str = "",
    record: Iterable[Mapping[str, Any]] | None = None,
) -> ProvedStatements:
    """Check evidence about an object and tell of everybody, or of one `person`.  Raises Broken.

    With all changes of the `record` it may leave nothing out, either.
    """
    question = manifest["question"]
    facts = Facts(question["revision"], moment_of(question["as_of"]))
    if facts.revision > head.size:
        raise Broken(f"revision {facts.revision} was not signed")
    for change in proved(archive, head):
        facts.take(change)
    access = json.loads(archive.read("access.json"))
    facts.names = access.get("names", {})
    _counted(access["rows"], manifest["population"])
    _drawn(access, question)
    rows = [row for row in access["rows"] if person in ("", row["principal"])]
    if not rows:
        raise Broken(f"the evidence says nothing about {person}")
    place = Placement(facts, access, question)
    where = f"{question['object']['type']} {question['object']['id']}"
    when = f"{question['as_of']} (revision {question['revision']})"
    statements = ProvedStatements([f"proved: {where} as of {when}, record signed up to {head.size}"])
    if place.by_word:
        named = ", ".join(place.name_of(key) for key in place.by_word)
        statements.lines.append(f"where these stood and what they were called, the site says alone: {named}")
    if place.mode != "on":
        by = " by the realm's settings, as the site says" if access["mode"].get("settings") else ""
        statements.lines.append(
            f"authorization was {place.mode}{by}: every member could, what its rules decide else"
        )
    for row in rows:
        statements.lines += _row_statements(row, facts, place)
    if record is not None:
        everybody = question["person"] is None and question["sample"] is None
        statements.lines.insert(1, complete.check(record, access, place, everybody=everybody))
    return statements


def lot(seed: str, pseudonym: str) -> str:
    """The lot of a person under a seed: anybody can draw the same sample again."""
    return hashlib.sha256(f"{seed}\n{pseudonym}".encode()).hexdigest()


def _counted(rows: list[Mapping[str, Any]], population: Mapping[str, Any]) -> None:
    """Raises Broken unless each person stands there once, and as many as it says."""
    if any(len({row[name] for row in rows}) != len(rows) for name in ("principal", "pseudonym")):
        raise Broken("a person is listed twice")
    counts = (population["listed"], population["with_access"])
    if counts != (len(rows), sum(bool(row["actions"]) for row in rows)):
        raise Broken("the number of people in it is not what it says")


def _drawn(access: Mapping[str, Any], question: Mapping[str, Any]) -> None:
    """Raises Broken unless a sample is the one that its seed draws."""
    everybody = access.get("drawn_from")
    if not everybody:
        return
    drawn = sorted(everybody, key=lambda name: lot(question["seed"], name))[: question["sample"]]
    if sorted(drawn) != sorted(row["pseudonym"] for row in access["rows"]):
        raise Broken(f"these are not the {question['sample']} people that the seed draws")


def _row_statements(row: Mapping[str, Any], facts: Facts, place: Placement) -> Iterator[str]:
    """The row in sentences, once all of it was found to follow."""
    ways = [(path, _rule(path, row, facts, place)) for path in (*row["paths"], *row.get("way", ()))]
    _follow(row, [rule for _, rule in ways], facts, place)
    yield f"{row['principal']} could do: {', '.join(row['actions']) or 'nothing'}"
    if row.get("service_admin"):
        yield "  was an administrator of the whole service, as the site says"
    if row.get("member") and place.mode != "on":
        yield f"  was a member: {facts.span(row['member'])}"
    for path, rule in ways[: len(row["paths"])]:
        via = f" via {', '.join(path['via'])}" if path["via"] else ""
        verb = "held" if rule.allow else "was denied"
        name = f" as {path['bearer']['principal']}" if path.get("bearer") and not path["via"] else ""
        sentence = f"{verb} {rule.privilege} on {place.name_of(rule.object)}{via}{name}"
        yield f"  {sentence}: {_since(path, facts)}"


def _since(path: Mapping[str, Any], facts: Facts) -> str:
    span = facts.span(path["facts"]) if path["facts"] else ""
    if not path.get("ground"):
        return span
    by_settings = f"by the realm's settings ({path['ground']}), as the site says"
    return f"{by_settings}, {span}" if span else by_settings


def _rule(path: Mapping[str, Any], row: Mapping[str, Any], facts: Facts, place: Placement) -> Rule:
    """What a path gives.  Raises Broken unless its facts held, lead from the person, and give it there."""
    rule = Rule(path["object"], path["privilege"], path["allow"])
    if path.get("ground"):
        if not place.law.by_text:
            raise Broken(f"no settings give {rule.privilege} in such a realm")
        facts.led(path["facts"], row["pseudonym"])
        return rule
    last, who = path["facts"][-1], row["pseudonym"]
    if bearer := path.get("bearer"):
        who = bearer["pseudonym"]
        if len(path["facts"]) != 1 or not place.bears(row["principal"], bearer["principal"]):
            raise Broken(f"{row['principal']} does not hold what {bearer['principal']} does")
    given = facts.carry(path["facts"], who)
    if _given(given) != (rule.privilege, rule.allow, rule.object):
        raise Broken(f"{last} does not give {rule.privilege} there")
    if not place.tells(given):
        raise Broken(f"{last} is not about {place.name_of(place.levels[-1].key)}")
    return rule


def _follow(row: Mapping[str, Any], rules: list[Rule], facts: Facts, place: Placement) -> None:
    """Raises Broken unless the law makes of the rules what the row says that the person could do."""
    member, holds, own = row.get("member", ()), row.get("holds", ()), place.levels[-1].key
    facts.led(member, row["pseudonym"])
    if holds and facts.led(holds, row["pseudonym"]) != (ROLE, own):
        raise Broken(f"{holds[-1]} is not about {place.name_of(own)}")
    can = place.can(
        row["principal"],
        rules,
        member=bool(member) and kind(member[0]) == "realmmember",
        service_admin=bool(row.get("service_admin")),
        selves=[own] if holds else [],
    )
    if can != row["actions"]:
        raise Broken(f"by what is shown, {row['principal']} could do: {', '.join(can) or 'nothing'}")


def _given(state: Mapping[str, Any]) -> tuple[str, bool, Any]:
    """The privilege, whether it is allowed, and on what: as a grant or an ownership states them."""
    if "privilege" not in state:
        return "OWNER", True, state["securable_id"]
    on = state["securable_id"] if state["securable_id"] is not None else state["pattern"]
    return state["privilege"], state["effect"] == "allow", on
