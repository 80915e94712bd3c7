"""A metalake of a Gravitino server: the answers of its REST API for roles, users and groups, as a JSON list.

That is what `…/metalakes/NAME/users?details=true`, `…/groups?details=true` and `…/roles/ROLE` answer, also of
one, `…/users/NAME`, and `…/owners/TYPE/NAME` with `type` and `fullName` of the object beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from lakewarden.law import dialects
from lakewarden.law.objects import BadName, split_name
from policies.errors import Invalid
from policies.policy_files import statements as kinds
from policies.policy_files.imports.draft import LAW, Draft, json_of
from policies.policy_files.statements import Statement

_ROLE: object = (str, {"securableObjects": [{"privileges": [{}]}]})
_HOLDER: object = (str, {"roles": [(str, int)]})
ANSWER: dict[str, object] = {
    "role": _ROLE,
    "roles": [_ROLE],
    "user": _HOLDER,
    "group": _HOLDER,
    "users": [_HOLDER],
    "groups": [_HOLDER],
    "owner": {},
}
"""How an answer is built, as far as it is read."""
KINDS = {"USER": "user", "GROUP": "group"}


def read(text: str, draft: Draft) -> None:
    """Read the answers.  Raises Invalid."""
    value = json_of(text, "Gravitino", (ANSWER, [ANSWER]))
    answers = value if isinstance(value, list) else [value]
    for answer in answers:
        if not any(answer.get(name) is not None for name in ANSWER):
            raise Invalid(gettext("An answer has neither roles nor users, groups or an owner."))
        for role in _each(answer, "role"):
            _role(role, draft)
        for kind in ("user", "group"):
            for entry in _each(answer, kind):
                _holder(kind, entry, draft)
        if answer.get("owner"):
            _owner(answer, draft)


def _each(answer: Mapping[str, Any], name: str) -> list[Any]:
    """Those that an answer is about, one or several."""
    return [*([answer[name]] if name in answer else ()), *answer.get(f"{name}s", ())]


def _holder(kind: str, entry: Any, draft: Draft) -> None:
    if isinstance(entry, str):
        draft.member(f"{kind}:{entry}")
        draft.leave_out(f"roles of {kind}:{entry}", "The answer has names alone. Ask with ?details=true.")
        return
    who = f"{kind}:{entry.get('name', '')}"
    draft.member(who)
    for role in entry.get("roles") or ():
        draft.holds(who, str(role))


def _role(role: Any, draft: Draft) -> None:
    if isinstance(role, str):
        draft.role(role)
        draft.leave_out(f"what role {role} gives", "The answer has names alone. Ask for each role.")
        return
    name = str(role.get("name", ""))
    draft.role(name)
    for place in role.get("securableObjects") or ():
        type_, full = str(place.get("type", "")).lower(), str(place.get("fullName", ""))
        for given in place.get("privileges") or ():
            code, effect = str(given.get("name", "")).upper(), str(given.get("condition", "allow")).lower()
            problem = _give(name, type_, full, code, effect, draft)
            if problem:
                draft.leave_out(f"role {name}: {effect} {code} on {type_} {full}", problem)


def _give(role: str, type_: str, full: str, code: str, effect: str, draft: Draft) -> str:
    privilege = dialects.get(LAW).privilege(code)
    if privilege is None or type_ not in privilege.binds or effect not in ("allow", "deny"):
        return "It has no like in the law."
    try:
        target = draft.object(type_, () if type_ == "metalake" else split_name(full))
    except BadName as problem:
        return f"{problem}."
    draft.statements.add(Statement(kinds.GIVES, role=role, target=target, code=privilege.code, effect=effect))
    return ""


def _owner(answer: Mapping[str, Any], draft: Draft) -> None:
    owner, type_, full = answer["owner"], str(answer.get("type", "")).lower(), str(answer.get("fullName", ""))
    kind = KINDS.get(str(owner.get("type", "")).upper(), "")
    if not kind or not type_ or type_ in ("metalake", "role"):
        draft.leave_out(f"owner of {type_} {full}", "The object is not named, or it is owned here already.")
        return
    try:
        draft.owner(type_, split_name(full), f"{kind}:{owner.get('name', '')}")
    except BadName as problem:
        draft.leave_out(f"owner of {type_} {full}", f"{problem}.")
