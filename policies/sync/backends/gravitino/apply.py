"""The steps of a plan in a metalake, each safe to repeat: what is there already, or gone already, is done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lakewarden.backends.base import Right, Step
from lakewarden.backends.console import Fact, Record
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, Transient, worst
from policies.sync.backends.gravitino.names import (
    OWNER,
    Person,
    full_name,
    opposite,
    owns,
    wire,
)
from policies.sync.backends.gravitino.observe import MEMBER, Client, sole
from policies.sync.backends.shared.rest import Refused

EXISTS, ABSENT = 409, 404
_NOT_IN_USE = 1009


def translated(refusal: Refused) -> BackendError:
    """What to do next about an error of the API."""
    text, code = str(refusal), refusal.body.get("code")
    if refusal.status == ABSENT or refusal.body.get("type") == "IllegalRoleException":
        return Gone(text)
    if refusal.status in (403, 405) or (code == _NOT_IN_USE and "etalake" in text):
        return Misconfigured(text)
    return Rejected(text)


class Writer:
    """Carries steps out in one metalake."""

    def __init__(self, client: Client, record: Record) -> None:
        self.client, self.record = client, record

    def do(self, step: Step) -> None:
        """One step.  Raises BackendError."""
        owner = owns(step.role)
        try:
            if step.kind == "take_foreign":
                self._take_foreign(step)
            elif step.kind == "switch":
                self._switch(step)
            elif owner and step.kind == "give":
                self._own(owner, step.rights)
            elif owner and step.kind == "take":
                # an owner cannot be taken away there, only be followed by another: by this console's own
                # account
                for fact in self.record.take(Fact(owner, right) for right in step.rights):
                    name = full_name(self.client.name, fact.right)
                    if self.client.owner(fact.right.kind, name) == owner:
                        self._set_owner(fact.right.kind, name, Person("user", self.client.me))
                    self.record.taken([fact])
            elif not owner:  # an owner is no role: nothing is made for it
                operation = {
                    "make_role": self._make,
                    "give": self._give,
                    "take": self._take,
                    "drop_role": self._drop,
                }[step.kind]
                operation(step)
        except Refused as refusal:
            raise translated(refusal) from None

    # roles

    def _name(self, step: Step) -> str:
        return self.client.marks.role_name(step.role)

    def _make(self, step: Step) -> None:
        properties = self.client.marks.properties(step.role, step.label)
        body = {"name": self._name(step), "properties": properties, "securableObjects": []}
        try:
            self.client.post("roles", body=body)
        except Refused as refusal:
            if refusal.status != EXISTS:
                raise
            self._must_be_ours(self._name(step), step.role)

    def _must_be_ours(self, name: str, key: str) -> None:
        role_there = self.client.role(name)
        if role_there is None or role_there.key != key:
            raise Rejected(f"a role {name} that is not ours is there already")

    def _give(self, step: Step) -> None:
        self._each_object(step, "grant")

    def _take(self, step: Step) -> None:
        self._each_object(step, "revoke")

    def _each_object(self, step: Step, verb: str) -> None:
        """The rights of a step object by object; what cannot be done on one does not keep it from others."""
        name, failed = self._name(step), []
        names: dict[tuple[str, str], list[str]] = defaultdict(list)
        for right in step.rights:
            names[right.kind, full_name(self.client.name, right)].append(right.right)
        for (kind, object_), words in names.items():
            try:
                self._change(name, kind, object_, words, verb)
            except Refused as refusal:
                if not (verb == "revoke" and refusal.status == ABSENT):
                    failed.append(translated(refusal))
        if failed:
            raise worst(failed)

    def _change(self, role: str, kind: str, object_: str, words: list[str], verb: str) -> None:
        place = ("permissions", "roles", role, kind, object_)
        wanted = {"privileges": [wire(word) for word in words]}
        try:
            self.client.put(*place, verb, body=wanted)
        except Refused as refusal:
            if verb != "grant" or refusal.status != 400 or translated(refusal).__class__ is Gone:
                raise
            # allowed and denied exclude each other in one role, so the other goes first
            others = {"privileges": [wire(opposite(word)) for word in words]}
            self.client.put(*place, "revoke", body=others)
            self.client.put(*place, verb, body=wanted)

    def _drop(self, step: Step) -> None:
        name = self._name(step)
        role_there = self.client.role(name)
        if role_there is None:
            return
        self._must_be_ours(name, step.role)
        held = self.client.roles_members(name)
        if role_there.rights or held:
            raise Rejected(f"{name} still holds rights or has members")
        self.client.delete("roles", name)

    # people

    def _switch(self, step: Step) -> None:
        joins = [key for key in step.joins if not owns(key)]
        leaves = [key for key in step.leaves if not owns(key)]
        person = Person.of(step.person)
        held = self.client.person(person)
        if held is None and joins:
            self._admit(person)
        self._must_be_as_read(step, held or frozenset())
        name = self.client.marks.role_name
        self._roles(person, "grant", [name(key) for key in joins])
        if held is not None:
            self._roles(person, "revoke", [name(key) for key in leaves if name(key) in held])

    def _admit(self, person: Person) -> None:
        try:
            self.client.post(f"{person.kind}s", body={"name": person.name})
        except Refused as refusal:
            if refusal.status != EXISTS:
                raise

    def _must_be_as_read(self, step: Step, held: frozenset[str]) -> None:
        name = self.client.marks.role_name
        expected = {name(key) for key in (*step.joins, *step.leaves, *step.keeps)}
        for role_name in sorted(held - expected):
            role = self.client.role(role_name) if self.client.marks.could_be(role_name) else None
            if role is not None and role.key is not None:
                raise Transient(f"the memberships of {step.person} changed since they were read")

    def _roles(self, person: Person, verb: str, names: list[str]) -> None:
        if names:
            self.client.put("permissions", f"{person.kind}s", person.name, verb, body={"roleNames": names})

    # owners

    def _own(self, owner: str, rights: Iterable[Right]) -> None:
        person = Person.of(owner)
        if self.client.person(person) is None:
            self._admit(person)
        for right in rights:
            name, fact = full_name(self.client.name, right), Fact(owner, right)
            now = self.client.owner(right.kind, name)
            self.record.give([fact], [Fact(now, right)])
            if now != owner:
                self._set_owner(right.kind, name, person)
            self.record.given([fact])

    def _set_owner(self, kind: str, name: str, person: Person) -> None:
        self.client.put("owners", kind, name, body={"name": person.name, "type": person.kind.upper()})

    # what others gave

    def _take_foreign(self, step: Step) -> None:
        for right in step.rights:
            if right.right == OWNER:
                for theirs in self.record.own([Fact(step.person, right)]):
                    name = full_name(self.client.name, theirs.right)
                    if self.client.owner(theirs.right.kind, name) == theirs.holder:
                        self._set_owner(theirs.right.kind, name, Person("user", self.client.me))
            elif right.right == MEMBER:
                role = right.path[0]
                self._must_be_theirs(role)
                person = Person.of(step.person)
                if role in (self.client.person(person) or ()):
                    self._roles(person, "revoke", [role])
            else:
                self._take_from_role(step, right)

    def _take_from_role(self, step: Step, right: Right) -> None:
        role = (step.grantor or step.person).removeprefix("role ")
        self._must_be_theirs(role)
        if step.grantor and sole(self.client.roles_members(role)) != step.person:
            raise Transient(f"{step.person} is no longer alone in the role {role}; look at it again")
        place = (right.kind, full_name(self.client.name, right))
        try:
            self._change(role, *place, [right.right], "revoke")
        except Refused as refusal:
            if refusal.status != ABSENT:
                raise

    def _must_be_theirs(self, role: str) -> None:
        role_there = self.client.role(role)
        if role_there is not None and role_there.key is not None:
            raise Rejected(f"the role {role} is ours")
