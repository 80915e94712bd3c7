"""What a policy file would change: adds, changes and, apart, removals; and carrying that very plan out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import BadEntity
from lakewarden.law.objects import BadName
from lakewarden.law.principals import BadPrincipal
from lakewarden.law.principals import Principal as PrincipalName
from policies.errors import Invalid
from policies.policy_files import statements as kinds
from policies.policy_files.comparison import ADD, CHANGE, REMOVE, Comparison, Step
from policies.policy_files.document import PolicyFile
from policies.policy_files.statements import RealmStatements, Statement, of_realm, reference_of
from policies.requests.plan_approvals import ListedStep, digest_of, last_change_of_access
from policies.services import objects, patterns
from policies.simulation import changes as proposals
from policies.simulation.changes import Change, Target, Window

CREATED = (kinds.MEMBER, kinds.OBJECT, kinds.ROLE)
"""What is made before anything is said of it, in this order."""


class Plan:
    """The steps from what is so to what a file says, at one revision of the realm.

    Raises Invalid for a file that is not about the realm, or names what is not there.
    """

    def __init__(self, root: Node, file: PolicyFile) -> None:
        self.root, self.file = root, file
        if file.realm != root.name:
            raise Invalid(
                gettext("This file is about realm %(realm)s, not %(here)s.")
                % {"realm": file.realm, "here": root.name}
            )
        if file.law and file.law != root.kind:
            raise Invalid(
                gettext("This file is written for the rules of %(law)s; %(realm)s has those of %(its_law)s.")
                % {"law": file.law, "realm": root.name, "its_law": root.kind}
            )
        self.revision = last_change_of_access(root.realm_id)
        self.present = of_realm(root)
        self._resolve()
        self.steps = Comparison(root, self.present, file).steps

    @property
    def adds(self) -> list[Step]:
        return [step for step in self.steps if step.action == ADD]

    @property
    def changes(self) -> list[Step]:
        return [step for step in self.steps if step.action == CHANGE]

    @property
    def removals(self) -> list[Step]:
        return [step for step in self.steps if step.action == REMOVE]

    @cached_property
    def digest(self) -> str:
        """What the plan is known by: another file, or anything that changed in the realm, makes another."""
        return digest_of(self.root.name, self.revision, self.listed)

    @property
    def listed(self) -> list[ListedStep]:
        """The steps as a request for approval keeps them."""
        return [(step.action, str(step), (step.before, step.after)) for step in self.steps]

    def proposed(self) -> list[Change]:
        """The same as changes that can be simulated; new objects are left out, as nobody has access yet.

        Who is admitted comes first, as others hold nothing here; then removals, as one role may not allow and
        deny the same.
        """
        names = Names(self.root, self.present, self.file.statements)
        admitted = [step for step in self.adds if step.key.kind == kinds.MEMBER]
        others = (step for step in self.adds if step.key.kind != kinds.MEMBER)
        ordered = [*admitted, *self.removals, *self.changes, *others]
        known_steps = [step for step in ordered if step.key.kind != kinds.OBJECT and names.knows(step.key)]
        return [change for step in known_steps for change in changes_of(step, names)]

    # what the file says, held against what is so

    def _resolve(self) -> None:
        """See that everything named is there or will be.  Raises Invalid."""
        new = {item.target for item in self.file.statements if item.kind == kinds.OBJECT}
        roles_named = {item.role for item in self.file.statements if item.kind == kinds.ROLE}
        law = dialects.get(self.root.kind)
        for statement in sorted(self.file.statements):
            if statement.who:
                principal_name(statement.who)
            target = statement.target
            if statement.kind == kinds.OBJECT:
                self._check_object(target)
            if not target or target in new or target in self.present.targets:
                continue
            if law.by_text and statement.kind in (kinds.GRANT, kinds.GIVES):
                patterns.named(self.root, target)
            elif not (target.startswith("role:") and target[5:] in roles_named):
                raise Invalid(
                    gettext("There is no %(target)s in %(realm)s, and the file does not register it.")
                    % {"target": target, "realm": self.root.name}
                )

    def _check_object(self, target: str) -> None:
        """See that a name is that of an object, which roles and people are not.  Raises Invalid."""
        try:
            ref = reference_of(self.root, target)
        except (BadName, BadEntity) as problem:
            raise Invalid(
                gettext("%(target)s names no object: %(problem)s.") % {"target": target, "problem": problem}
            ) from None
        if not ref.path or ref.type not in {*dialects.get(self.root.kind).types} - objects.MADE_APART:
            raise Invalid(
                gettext("%(target)s names no object of %(realm)s.")
                % {"target": target, "realm": self.root.name}
            )


def principal_name(text: str) -> PrincipalName:
    kind, _, name = text.partition(":")
    if kind == Principal.Kind.PATTERN and name:
        return PrincipalName(kind, name)
    try:
        return PrincipalName.parse(text)
    except BadPrincipal as problem:
        raise Invalid(f"{str(problem).capitalize()}.") from None


class Names:
    """Objects, roles and principals by the names that statements have for them.  Three queries."""

    def __init__(self, root: Node, present: RealmStatements, stated: Iterable[Statement]) -> None:
        self.root, self.present = root, present
        every = [*present.statements, *stated]
        self.roles = dict(present.roles)
        for number, name in enumerate(sorted({item.role for item in every if item.role} - self.roles.keys())):
            self.roles[name] = proposals.new_role(root, name, -1 - number)
        names = {item.who for item in every if item.who}
        parsed = {text: principal_name(text) for text in names}
        rows = Principal.objects.filter(name__in={name.name for name in parsed.values()})
        by_name = {(row.kind, row.name): row for row in rows}
        self.people = {
            text: by_name.get((name.kind, name.name)) or Principal(kind=name.kind, name=name.name)
            for text, name in parsed.items()
        }

    def knows(self, key: Statement) -> bool:
        return not key.target or key.target in self.present.targets or self._is_text(key)

    def _is_text(self, key: Statement) -> bool:
        return dialects.get(self.root.kind).by_text and key.kind in (kinds.GRANT, kinds.GIVES)

    def target(self, key: Statement) -> Target:
        if self._is_text(key):
            return Target.of_text(self.root, patterns.named(self.root, key.target))
        return Target(self.present.targets[key.target])


def changes_of(step: Step, names: Names) -> Iterator[Change]:
    """The changes of a step; what goes in one window and stays in another is given again."""
    key, removes = step.key, step.action != ADD
    given = step.after if removes else step.lacking
    who = names.people[key.who] if key.who else None
    if key.kind == kinds.MEMBER and who is not None:
        yield proposals.RemoveMember(who) if step.action == REMOVE else proposals.AddMember(who)
    elif key.kind == kinds.ROLE:
        if step.action == REMOVE:
            yield proposals.DeleteRole(names.roles[key.role])
    elif key.kind in kinds.OWNERS:
        owned = names.roles[key.role] if key.kind == kinds.ROLE_OWNER else names.present.targets[key.target]
        yield proposals.SetOwner(owned, names.people[step.after[0].who])
    elif key.kind == kinds.HOLDER and who is not None:
        role = names.roles[key.role]
        if removes:
            yield proposals.UnassignRole(role, who)
        for item in given:
            yield proposals.AssignRole(role, who, _window(item))
    elif key.kind == kinds.GIVES:
        role, target, codes = names.roles[key.role], names.target(key), (key.code,)
        if removes:
            yield proposals.RemoveFromRole(role, target, codes, key.effect)
        for item in given:
            yield proposals.AddToRole(role, target, codes, key.effect, _window(item))
    elif key.kind == kinds.GRANT and who is not None:
        target, codes = names.target(key), (key.code,)
        if removes:
            yield proposals.RevokeAccess(target, who, codes)
        for item in given:
            yield proposals.GrantAccess(target, who, codes, _window(item))


def _window(statement: Statement) -> Window:
    return _moment(statement.start), _moment(statement.end)


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
