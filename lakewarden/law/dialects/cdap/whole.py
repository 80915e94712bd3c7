"""Operations that ask several users for something on several entities, as one question about all of it.

What is always asked stands in the tables; what is asked under a condition is named by whoever asks, with the
entity that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lakewarden.law.dialects.cdap.authorizable import Authorizable, of
from lakewarden.law.dialects.cdap.requirements import EXECUTING, IMPERSONATED, REQUESTING, Requirement
from lakewarden.law.dialects.cdap.subjects43 import ALONE, ALWAYS, IMPERSONATING, TABLES

PROGRAM_RUN, PIPELINE_RUN = "execute a program", "execute a hydrator pipeline"


class Whole(NamedTuple):
    """A table asked as a whole: the type of entity it is about, and the condition that stands for."""

    table: str
    about: str
    condition: str


WHOLE: Mapping[str, Whole] = {
    "deploy_application": Whole("deploy_application", "application", ALWAYS),
    "execute_program": Whole("execute", "program", PROGRAM_RUN),
    "execute_pipeline": Whole("execute", "program", PIPELINE_RUN),
    "enable_dataprep": Whole("enable_dataprep", "namespace", ALWAYS),
}
"""The whole operations by the name they are asked by."""


class BadPart(ValueError):
    """What was named fits no row of the table; the text says why."""


@dataclass(frozen=True)
class Named:
    """Something that happens in the operation, and the entity to which it does."""

    condition: str
    entity: Authorizable


@dataclass(frozen=True)
class PartQuestion:
    """One question: whether a user concerned may do a part of a table to an entity."""

    subject: str
    table: str
    condition: str
    entity: Authorizable
    privileges: tuple[str, ...]


def conditions(name: str) -> tuple[str, ...]:
    """What may be named in a whole operation, in the order of its table."""
    whole = WHOLE[name]
    conditions_ = dict.fromkeys(part.requirement.condition for part in TABLES[whole.table])
    never = {ALWAYS, ALONE, IMPERSONATING, PROGRAM_RUN, PIPELINE_RUN}
    return tuple(each for each in conditions_ if each not in never)


def parts(
    name: str, about: Authorizable, named: Sequence[Named], *, impersonated: str = ""
) -> list[PartQuestion]:
    """Every question of a whole operation on its entity, in the order of its table.  Raises BadPart.

    `impersonated` is the user that is impersonated; empty says that nobody is.
    """
    whole = WHOLE[name]
    if about.type != whole.about:
        raise BadPart(f"{name} is asked of a {whole.about}")
    unknown = [each.condition for each in named if each.condition not in conditions(name)]
    if unknown:
        raise BadPart(f"{name} knows no `{unknown[0]}`; known are {', '.join(conditions(name))}")
    group = IMPERSONATING if impersonated else ALONE
    questions: list[PartQuestion] = []
    for part in TABLES[whole.table]:
        if part.group in ("", group):
            entities = _entities(whole, part.requirement, about, named, impersonated)
            questions += [_asked(whole.table, part.requirement, entity) for entity in entities]
    pairs = {(each.condition, each.entity) for each in questions}
    for each in named:
        if (each.condition, each.entity) not in pairs:
            raise BadPart(f"`{each.condition}` asks nothing of {each.entity}")
    return list(dict.fromkeys(questions))


def _entities(
    whole: Whole, requirement: Requirement, about: Authorizable, named: Sequence[Named], impersonated: str
) -> Iterable[Authorizable]:
    when = requirement.condition
    if when == whole.condition and requirement.type == about.type:
        return [about]
    if when in (ALWAYS, ALONE, IMPERSONATING):
        return [_by_pattern(requirement, about, impersonated)]
    entities = [each.entity for each in named if each.condition == when]
    exact = [entity for entity in entities if entity.type == requirement.type]
    if exact or not entities:
        return exact
    # the class of a custom dataset is both the name of its module and that of its type
    if requirement.name == "full-class-name":
        return [of(requirement.type, *entity.parts) for entity in entities]
    return []


def _by_pattern(requirement: Requirement, about: Authorizable, impersonated: str) -> Authorizable:
    """The entity that a row itself names: `dataset:<ns>.workspace`."""
    type, _, name = requirement.entity.partition(":")
    if type == "kerberosprincipal":
        return of(type, impersonated)
    parts = name.replace("<ns>", about.parts[0]).split(".")
    # a pattern of names is asked by a name like it
    return of(type, *(part.replace("*", "") or part for part in parts))


def _asked(table: str, requirement: Requirement, entity: Authorizable) -> PartQuestion:
    return PartQuestion(requirement.subject, table, requirement.condition, entity, requirement.privileges)


def user_of(subject: str, *, requesting: str, impersonated: str, master: str) -> str:
    """Who it is that a row calls by the part they have in the operation."""
    if subject == REQUESTING:
        return requesting
    if subject in (EXECUTING, IMPERSONATED):
        return impersonated or master
    return master
