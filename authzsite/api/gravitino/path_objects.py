"""Names in a path to objects, also where there is none: rights are asked before anything is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounts.models import Principal
from authzsite.api.gravitino import SEPARATOR
from authzsite.api.gravitino.errors import illegal
from catalog.nodes import Node
from catalog.queries import find_all
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.decisions.cache_versions import principal_key
from policies.models import RealmMember

ABSENT = -1
LAW = dialects.get("gravitino")
DATA = ("catalog", "schema", "table", "view", "topic", "fileset", "model", "function")
ASIDE = ("role", "tag", "policy", "job_template", "job")
PEOPLE = ("user", "group")


@dataclass(frozen=True)
class Place:
    """What a path names: a node to ask the law about, and the first part of it that is not there."""

    node: Node
    missing: tuple[str, str] | None = None
    person: Principal | None = None
    column: str = ""


def place(root: Node, types: Sequence[str], names: Sequence[str]) -> Place:
    """The place of the last of some names below a realm.  One query; one more where nested or absent."""
    if not types:
        return Place(root)
    if types[-1] in PEOPLE:
        return of_person(root, types[-1], names[-1])
    nodes = find_all([ObjectRef(type, root.name, tuple(names[: at + 1])) for at, type in enumerate(types)])
    if nodes[-1] is not None:
        return Place(nodes[-1])
    existing = sum(1 for node in nodes if node is not None)
    node = nodes[existing - 1] if existing else root
    assert node is not None  # noqa: S101 - the ones found come first
    missing = (types[existing], names[existing])
    for type, name in zip(types[existing:], names[existing:], strict=True):
        above = nearest_schema(node, name) if type == "schema" and node.type == "catalog" else node
        node = below(above, type, name)
    return Place(node, missing)


def below(node: Node, type: str, name: str) -> Node:
    """A node for something that is not there."""
    return replace(node, id=ABSENT, levels=(*node.levels, Level(type, ABSENT)), names=(*node.names, name))


def nearest_schema(catalog: Node, name: str) -> Node:
    """The nearest existing schema above a nested one, else the catalog."""
    parts = name.split(SEPARATOR)
    above = [SEPARATOR.join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    if not above or catalog.id == ABSENT:
        return catalog
    refs = [ObjectRef("schema", catalog.realm, (catalog.name, item)) for item in above]
    return next((node for node in find_all(refs) if node is not None), catalog)


def of_person(root: Node, kind: str, name: str) -> Place:
    """A member of the realm as an object of its law; a service account is a user to Gravitino's clients."""
    kinds = ("user", "service") if kind == "user" else ("group",)
    members = RealmMember.objects.open().filter(realm=root.realm_id, principal__kind__in=kinds)
    rows = members.filter(principal__name=name).select_related("principal").order_by("-principal__kind")
    person = next((row.principal for row in rows), None)
    key = principal_key(person.pk if person else ABSENT)
    node = replace(root, id=ABSENT, levels=(*root.levels, Level(kind, key)), names=(*root.names, name))
    return Place(node, None if person else (kind, name), person)


def of_object(root: Node, type: str, full_name: str) -> Place:
    """The object of a type and a full name, as permissions and owners name it.  Raises Problem."""
    kind = type.lower()
    if kind == "metalake":
        if full_name != root.name:
            raise illegal(f"The metalake is {root.name}, not {full_name}", "IllegalMetadataObjectException")
        return Place(root)
    if kind in ASIDE:
        return place(root, [kind], [full_name])
    if kind not in (*DATA, "column"):
        raise illegal(f"{type} is no type of a metadata object")
    parts = _parts(full_name)
    if kind == "column":
        if len(parts) != 4:
            raise illegal(f"{full_name} is no name of a column")
        table = place(root, ("catalog", "schema", "table"), parts[:3])
        return replace(table, node=below(table.node, "column", parts[3]), column=parts[3])
    types = LAW.type_path(kind, len(parts))
    if types is None:
        raise illegal(f"{full_name} is no name of a {kind}")
    return place(root, types, parts)


def _parts(full_name: str) -> tuple[str, ...]:
    try:
        return split_name(full_name)
    except BadName:
        raise illegal(f"{full_name} is no full name") from None
