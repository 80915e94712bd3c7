"""The words and marks for kinds of objects, for rights and for the stations of a path."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Chip, Face, Path, Who
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER, Key, Rule, Station
from policies.decisions.personal_role_names import is_personal

Labels = Mapping[Key, str]
"""What groups are called, by their principal's number."""

CONTAINERS = ("metalake", "catalog", "schema")
ROOMS = ("role", "herd", "namespace", "instance")
"""What opens as a page of its own kind."""
ICONS = {
    "metalake": "lake",
    "herd": "lake",
    "instance": "lake",
    "application": "catalog",
    "program": "function",
    "stream": "topic",
    "securekey": "policy",
    "kerberosprincipal": "user",
    "namespace": "schema",
    "job_template": "policy",
    "job": "policy",
    "user": "user",
}
DRAWN = {
    "catalog",
    "schema",
    "table",
    "view",
    "fileset",
    "topic",
    "model",
    "function",
    "column",
    "role",
    "tag",
    "policy",
}

_DONE = {
    "read": noop("Read"),
    "write": noop("Write"),
    "drop": noop("Drop"),
    "grant": noop("Manage grants"),
    "set_owner": noop("Set owner"),
    "alter": noop("Alter"),
    "create_catalog": noop("Create catalogs"),
    "create_schema": noop("Create schemas"),
    "create_table": noop("Create tables"),
    "create_view": noop("Create views"),
    "create_topic": noop("Create topics"),
    "create_fileset": noop("Create filesets"),
    "create_model": noop("Create models"),
    "create_model_version": noop("Create model versions"),
    "create_function": noop("Create functions"),
    "create_role": noop("Create roles"),
    "create_tag": noop("Create tags"),
    "create_policy": noop("Create policies"),
    "create_job_template": noop("Create job templates"),
    "create_user": noop("Create users"),
    "create_group": noop("Create groups"),
    "create_namespace": noop("Create namespaces"),
    "create_job_definition": noop("Create job definitions"),
    "create_application": noop("Create applications"),
    "create_program": noop("Create programs"),
    "create_artifact": noop("Create artifacts"),
    "create_dataset": noop("Create datasets"),
    "create_dataset_type": noop("Create dataset types"),
    "create_dataset_module": noop("Create dataset modules"),
    "create_stream": noop("Create streams"),
    "create_securekey": noop("Create securekeys"),
    "create_kerberosprincipal": noop("Create kerberosprincipals"),
}
_USES = {
    "metalake": noop("Use metalake"),
    "catalog": noop("Use catalog"),
    "schema": noop("Use schema"),
    "model": noop("Use model"),
    "function": noop("Use function"),
    "tag": noop("Use tag"),
    "policy": noop("Use policy"),
    "job_template": noop("Use job template"),
    "role": noop("Use role"),
    "herd": noop("Use herd"),
    "namespace": noop("Use namespace"),
    "instance": noop("Use instance"),
    "application": noop("Use application"),
    "program": noop("Use program"),
    "artifact": noop("Use artifact"),
    "dataset": noop("Use dataset"),
    "dataset_type": noop("Use dataset type"),
    "dataset_module": noop("Use dataset module"),
    "stream": noop("Use stream"),
    "securekey": noop("Use securekey"),
    "kerberosprincipal": noop("Use kerberosprincipal"),
}
_KINDS = (
    noop("Metalake"),
    noop("Catalog"),
    noop("Schema"),
    noop("Table"),
    noop("View"),
    noop("Column"),
    noop("Fileset"),
    noop("Topic"),
    noop("Model"),
    noop("Function"),
    noop("Role"),
    noop("Tag"),
    noop("Policy"),
    noop("Herd"),
    noop("Namespace"),
    noop("Instance"),
    noop("Application"),
    noop("Program"),
    noop("Artifact"),
    noop("Dataset"),
    noop("Stream"),
    noop("Securekey"),
    noop("Kerberosprincipal"),
    noop("Job template"),
    noop("Job"),
    noop("User"),
)
"""What `kind_of` makes of the types of the laws, for the catalogues."""
_ORDER = ("use", "read", "write", "create", "manage")
_TOLD = ("use", "read", "write", "grant")
"""What is said of people in one row; the rest follows from ownership or is said on the Rules tab."""


def kind_of(type_: str) -> str:
    """job_template -> Job template."""
    return _(type_.replace("_", " ").capitalize())


def type_of(type_: str) -> str:
    """job_template -> job template: what an object is, within a sentence or beside its name."""
    return pgettext("kind of object", type_.replace("_", " "))


def plural_of(type_: str) -> str:
    """table: tables; entity: entities; business object data: the same.  English, for the catalogues."""
    if type_.endswith("data"):
        return type_
    return f"{type_[:-1]}ies" if type_.endswith("y") else f"{type_}s"


def count_of(many: int, type_: str) -> str:
    """1 table; 28 entities."""
    singular = type_.replace("_", " ")
    return words.count(many, singular, plural_of(singular))


def several(type_: str) -> str:
    """tables; entities: what objects of a kind are called within a sentence."""
    singular = type_.replace("_", " ")
    return ngettext(singular, plural_of(singular), 2)


def several_first(type_: str) -> str:
    """Tables; Entities: the same as the first word of a text."""
    text = several(type_)
    return text[:1].upper() + text[1:]


def icon_of(type_: str) -> str:
    return type_ if type_ in DRAWN else ICONS.get(type_, "table")


def page_of(id_: int, type_: str) -> str:
    """Where an object opens: containers as a place to browse, all else as its own page."""
    if type_ in ROOMS:
        return reverse(f"console:{type_}", args=[id_])
    return reverse("console:browse" if type_ in CONTAINERS else "console:object", args=[id_])


def short_name(node: Node) -> str:
    """sales.orders: the last two parts of a name, as people say it."""
    return ".".join(node.names[1:][-2:]) or node.name


def place_words(node: Node) -> str:
    """Table in demo / shop / sales."""
    return (
        _("%(type)s in %(names)s") % {"type": kind_of(node.type), "names": " / ".join(node.names[:-1])}
        if len(node.names) > 1
        else kind_of(node.type)
    )


def avatar_of(principal: Principal) -> Face:
    kind = principal.kind if principal.kind in ("group", "service") else "person"
    return Face(kind, words.initials(principal.label))


def who(principal: Principal, note: str = "", url: str = "") -> Who:
    return Who(principal.label, avatar_of(principal), note if note != principal.label else "", url)


def principal_name(principal: Principal) -> str:
    """Group Analysts; service nightly-load; Ana Analyst."""
    names = {
        "group": _("group %(label)s") % {"label": principal.label},
        "service": _("service %(label)s") % {"label": principal.label},
    }
    return names.get(principal.kind, principal.label)


DUTIES = {
    "view_history": gettext_lazy("History"),
    "export_history": gettext_lazy("Export of the history"),
    "review_access": gettext_lazy("Reviews"),
    "approve_requests": gettext_lazy("Requests"),
    "operate_sync": gettext_lazy("Sync"),
    "connect_backend": gettext_lazy("Backends"),
    "break_glass": gettext_lazy("Emergency access"),
}
"""What a duty is called."""


# Rights


def right(code: str, type_: str, kind: str = "gravitino") -> str:
    """SELECT_TABLE -> Read on a table, Read tables on what holds tables."""
    if code == OWNER:
        return _("Everything")
    privilege = dialects.get(kind).privilege(code)
    if privilege is None:
        return code
    leaf = next((bind for bind in privilege.binds if bind not in CONTAINERS), "")
    plain = privilege.category in ("create", "use", "manage") or type_ not in CONTAINERS or not leaf
    return _(privilege.label if plain else f"{privilege.label} {leaf}s")


def rights_on(codes: Sequence[str], type_: str, name: str, kind: str = "gravitino") -> str:
    """Read, write on orders; Use schema sales."""
    values = {"rights": sentence_list([right(code, type_, kind) for code in codes]), "name": name}
    leads = all(code.startswith("USE_") for code in codes)
    return _("%(rights)s %(name)s") % values if leads else _("%(rights)s on %(name)s") % values


def action(name: str, type_: str) -> str:
    """read -> Read; use of a schema -> Use schema; create_table -> Create tables."""
    if name == "use" or (name == "read" and type_ in CONTAINERS):
        return _(_USES.get(type_, f"Use {type_}"))
    return _(_DONE.get(name, name))


def can(actions: Collection[str], type_: str, *, owns: bool) -> str:
    """Read, write; Everything for an owner; Nothing."""
    if owns and "drop" in actions:
        return _("Everything")
    verbs = dict.fromkeys(action(name, type_) for name in _TOLD if name in actions)
    return sentence_list(list(verbs)) or _("Nothing")


def given(rules: Iterable[Rule], type_: str, kind: str) -> str:
    """What rules give, denials taken off, whether or not it can be used yet."""
    allowed, denied = [], set()
    for rule in rules:
        if rule.privilege == OWNER:
            return _("Everything")
        if rule.allow:
            allowed.append(rule.privilege)
        else:
            denied.add(rule.privilege)
    bits = {code: dialects.get(kind).privilege(code) for code in allowed if code not in denied}
    ordered = sorted(
        (bit for bit in bits.values() if bit),
        key=lambda privilege: (_ORDER.index(privilege.category), privilege.bit),
    )
    return sentence_list(list(dict.fromkeys(right(item.code, type_, kind) for item in ordered))) or _(
        "Nothing"
    )


def sentence_list(items: list[str]) -> str:
    """["Read", "Write"] -> Read, write."""
    return ", ".join([item if at == 0 else lower(item) for at, item in enumerate(items)])


def lower(text: str) -> str:
    """A text that begins one within a sentence; in German many begin with a noun, and stay as they are."""
    return text if (get_language() or "").startswith("de") else text[:1].lower() + text[1:]


# Paths


def from_seconds(moment: float | None) -> datetime | None:
    return datetime.fromtimestamp(moment, UTC) if moment is not None else None


def ends_chip(moment: float | datetime | None) -> Chip | None:
    when = from_seconds(moment) if isinstance(moment, int | float) else moment
    return (
        Chip("ends", words.moment(when), hidden=pgettext("an end", "until"))
        if when and when > timezone.now()
        else None
    )


def window_chip(begin: float | datetime | None, end: float | datetime | None) -> Chip | None:
    """From Mon 30 Nov, 09:00, for what has not begun; until Fri 4 Dec, 18:00, for what ends; else None."""
    starts = from_seconds(begin) if isinstance(begin, int | float) else begin
    if starts is None or starts <= timezone.now():
        return ends_chip(end)
    ends = ends_chip(end)
    text = _("From %(starts)s until %(ends)s") if ends else _("From %(starts)s")
    return Chip("begins", text % {"starts": words.moment(starts), "ends": ends.text if ends else ""})


def level_of(node: Node, key: object) -> tuple[str, str]:
    """The type and name of one level of a lineage."""
    for level, name in zip(node.levels, node.names, strict=True):
        if level.key == key:
            return level.type, name
    return "", ""


def level_words(node: Node, key: object) -> str:
    """schema sales: one level of a lineage within a sentence."""
    type_, name = level_of(node, key)
    return f"{type_of(type_)} {name}" if type_ else name


def path(
    rules: Iterable[Rule],
    node: Node,
    labels: Labels = MappingProxyType({}),
    *,
    origin: bool = True,
    open_: Container[object] | None = None,
) -> Path:
    """The chips of rules that share their stations and their object, in path order from the person.

    `open_` are the objects whose pages open to the viewer, all when it is not said.
    """
    group = list(rules)
    first = group[0]
    type_, name = level_of(node, first.object)
    chips = [*_begin(group, node, name), *_stations(first.via, labels)]
    if not chips:
        chips = [Chip("direct", _("Direct"))]
    if origin and first.object != node.id:
        url = page_of(first.object, type_) if isinstance(first.object, int) else ""
        opens = url if open_ is None or first.object in open_ else ""
        chips.append(Chip("from", name, opens, hidden=type_of(type_)))
    return Path(tuple(chips))


def _begin(group: list[Rule], node: Node, name: str) -> Iterable[Chip]:
    if group[0].privilege == OWNER:
        yield Chip("owner", _("Owner of %(name)s") % {"name": name})
    elif not group[0].allow:
        denied = sentence_list([right(rule.privilege, node.type, node.kind) for rule in group])
        yield Chip("denied", _("%(denied)s denied") % {"denied": denied})


def _stations(via: tuple[Station, ...], labels: Labels) -> Iterable[Chip]:
    for station in via:
        if station.kind == "group":
            yield Chip("group", _("Group %(key)s") % {"key": labels.get(station.key, station.name)})
        elif station.kind == "role" and not is_personal(station.name):
            yield Chip("role", _("Role %(name)s") % {"name": station.name})


def paths(
    rules: Iterable[Rule],
    node: Node,
    labels: Labels = MappingProxyType({}),
    *,
    open_: Container[object] | None = None,
) -> tuple[Path, ...]:
    """Rules folded to one line of chips for each way, denials first, then the nearest."""
    ways: dict[tuple[Any, ...], list[Rule]] = {}
    for rule in rules:
        ways.setdefault((rule.via, rule.object, rule.allow, rule.privilege == OWNER), []).append(rule)
    depth = {key: at for at, key in enumerate(node.lineage)}
    ordered = sorted(ways, key=lambda way: (way[2], not way[3], -depth.get(way[1], -1), len(way[0])))
    return tuple(path(ways[way], node, labels, open_=open_) for way in ordered)
